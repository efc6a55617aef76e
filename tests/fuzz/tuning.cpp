#include "core/tuner/tuning_table.h"
#include "tests/fuzz/small_net.h"
#include "tests/fuzz/target.h"

namespace cortado::fuzz {
namespace {
TuningKey key() {
  TuningKey made;
  made.backend = "b";
  made.processor = "m";
  made.build = "v";
  return made;
}

void read(const std::string& file) {
  TuningTable table(key());
  table.read(file);
  table.layouts();
  table.plans_for(small_net());
  table.coverage(small_net());
  table.write(folder() + "/tuning.prototxt");
}

std::vector<std::string> seeds() {
  return {R"(version: 1
entry { backend: "b" machine: "m" build: "v" direction: "forward" type: "float" shape: "mb2ic3" candidate: "x" seconds: 1e-3 }
entry { backend: "b" machine: "m" build: "v" direction: "layout" type: "float" shape: "a" candidate: "nchw16c" seconds: inf }
)",
          R"(version: 2
machine {
  backend: "b" processor: "m" build: "v" vector_bits: 512 bf16_speed: 2 core_groups: 1 threads: 2 cache_cores: 2
  scratch_kib: 512 cache_kib: 32768
  work { shape: "mb2ic3" best { direction: "forward" plan: "x" ms: 1e-3 } best { direction: "backward" plan: "y" } }
}
)",
          "version: 3 entry {}"};
}
}  // namespace

Target tuning() { return {"tuning", of_file(read), seeds, caffe_words}; }

}  // namespace cortado::fuzz
