// libFuzzer's entry point, compiled once per target.
#include "core/base/log.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const cortado::fuzz::Target target = [] {
    cortado::open_log(true);
    return cortado::fuzz::CORTADO_FUZZ_TARGET();
  }();
  target.run(data, size);
  return 0;
}
