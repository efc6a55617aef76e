#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "tests/fuzz/target.h"

namespace cortado::fuzz {
namespace {
void read(const std::string& file) {
  caffe::SolverParameter solver;
  read_solver(file, solver);
  solver_type_name(solver);
  to_text(solver);
}

std::vector<std::string> seeds() {
  return {
      R"(net_param { input: "x" input_shape { dim: 2 } layer { name: "r" type: "ReLU" bottom: "x" top: "x" } }
test_iter: 10 test_interval: 100 base_lr: 1e-2 lr_policy: "multistep" gamma: .1 stepvalue: 0x10 stepvalue: 020
solver_type: ADAGRAD snapshot_prefix: "/tmp" solver_mode: CPU momentum: inf weight_decay: -nan
)",
      R"(net: "a" type: "Adam" train_state { level: 1 stage: 'b' "c" } test_state: [{ stage: "\x41\101\n" }, {}])",
      "lr_plicy: 3 solver_type: BEST test_state { stag: 'a' } net_param { layer { tpe: [1, -2] }",
  };
}
}  // namespace

Target solver() { return {"solver", of_file(read), seeds, caffe_words}; }

}  // namespace cortado::fuzz
