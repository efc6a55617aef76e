#include "core/tuner/tuning_table.h"
#include "tests/fuzz/small_net.h"
#include "tests/fuzz/target.h"

namespace cortado::fuzz {
namespace {
MachineSpec machine() {
  MachineSpec spec = small_net_options().group->spec();
  spec.name = "b";
  spec.description = "m";
  return spec;
}

void run(const std::uint8_t* data, std::size_t size) {
  const InputFile file(data, size);
  expect_errors_only([&] {
    TuningTable table(machine(), "v");
    table.read(file.name());
    table.layouts();
    table.plans_for(small_net());
    table.coverage(small_net());
    table.write(folder() + "/tuning.prototxt");
  });
}

std::vector<std::string> seeds() {
  return {R"(version: 1
entry { backend: "b" machine: "m" build: "v" direction: "forward" type: "float" shape: "mb2ic3" candidate: "x" seconds: 1e-3 }
entry { backend: "b" machine: "m" build: "v" direction: "layout" type: "float" shape: "a" candidate: "nchw16c" seconds: inf }
)",
          "version: 2 entry {}"};
}
}  // namespace

Target tuning() { return {"tuning", run, seeds, caffe_words}; }

}  // namespace cortado::fuzz
