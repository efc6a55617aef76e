#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/solver/solver.h"
#include "core/solver/state_file.h"
#include "tests/fuzz/small_net.h"
#include "tests/fuzz/target.h"

namespace cortado::fuzz {
namespace {

/// Of the weights that lie beside the state.
std::string digest() {
  caffe::NetParameter weights;
  small_net().to_proto(weights);
  return weights_digest(small_net(), weights, "weights");
}

/// A state that a run goes on from, with its weights beside it.
void run(const std::uint8_t* data, std::size_t size) {
  static const std::string state = folder() + "/x.solverstate";
  static Solver& solver = *[] {
    caffe::NetParameter weights;
    small_net().to_proto(weights);
    write_binary(folder() + "/x.caffemodel", weights);
    caffe::SolverParameter parameter;
    parse_text("base_lr: 0.1 lr_policy: 'fixed' type: 'Adam' max_iter: 1 snapshot_prefix: 'x'", "solver", parameter);
    *parameter.mutable_net_param() = small_net_parameter();
    SolverOptions options;
    options.group = small_net_options().group;
    options.layers = small_net_options().layers;
    return std::make_unique<Solver>(parameter, options).release();  // for as long as the process lives
  }();
  write_file(state, data, size);
  expect_errors_only([&] { solver.restore(state); });
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (const std::string& own :
       {std::string(), "cortado { weights_digest: '" + digest() +
                           "' ranks: 2 threads: 7 plan { direction: 'a/forward' " +
                           "candidate: 'x' } kept: 'y.solverstate' best: 0.5 statistics { data: [1, 2, 3] } }"}) {
    caffe::SolverState state;
    parse_text("iter: 7 learned_net: '/nowhere/x.caffemodel' current_step: 2 " + own, "seed", state);
    for (int moment = 0; moment < 2; ++moment)
      for (const char* const shape : {"shape { dim: 3 }", "shape { dim: 1 dim: 3 }", "shape { dim: 3 }"})
        parse_text(std::string(shape) + " data: [0.5, 1, 2]", "seed", *state.add_history());
    all.push_back(state.SerializeAsString());
  }
  return all;
}
}  // namespace

Target solverstate() { return {"solverstate", run, seeds}; }

}  // namespace cortado::fuzz
