#include "app/predict/prediction_machine.h"
#include "app/tune/collective_rules.h"
#include "tests/fuzz/target.h"

namespace cortado::fuzz {
namespace {

/// As rules of collectives, and as a machine to predict for, which is JSON too.
void read(const std::string& file) {
  expect_errors_only([&] {
    const auto rules = read_rules(file);
    write_rules(folder() + "/rules.json", rules);
  });
  read_prediction_machine(file);
}

std::vector<std::string> seeds() {
  return {R"({"version": 1, "rules": [{"collective": "allreduce", "ranks": 2, "nodes": 1, "least_bytes": 0,
 "most_bytes": 8192, "algorithm": "library", "chunk_bytes": 1048576, "radix": 2},
 {"collective": "broadcast", "algorithm": "knomial"}]})",
          R"({"name": "m", "devices_per_node": 4, "switch_messages": 1, "encode_ns": 1, "decode_ns": 0.5,
 "inside": {"gbytes_per_s": 5.25}, "across": {"gbytes_per_s": 6, "latency_us": [[3e3, 6], [1e6, 300]]},
 "divided_efficiency": 0.49, "compute": {"batch": 32, "iteration_ms": 9,
 "layers": {"conv1": {"forward_ms": 0.1, "backward_ms": 0.2, "update_ms": 0.1}}}})"};
}

std::vector<std::string> words() {
  return {"\"version\"",     "\"rules\"",   "\"collective\"", "\"algorithm\"",
          "\"allreduce\"",   "\"reduce\"",  "\"radix\"",      "\"ranks\"",
          "\"least_bytes\"", "\"library\"", "\"ring\"",       "\"across\"",
          "1e999",           "-1",          "null",           "18446744073709551615",
          "\"compute\"",     "\"layers\""};
}
}  // namespace

Target rules() { return {"rules", of_file(read), seeds, words}; }

}  // namespace cortado::fuzz
