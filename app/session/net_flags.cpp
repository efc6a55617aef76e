#include "app/session/net_flags.h"

#include "app/start/start_fields.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/net/known_net.h"
#include "layers/all_layers.h"

namespace cortado {

void NetState::add_to(Flags& flags) {
  flags.add("--level", level, "Level of the net's state, for include and exclude rules");
  flags.add("--stage", stages, "Stages of the net's state, separated by commas");
}

void set_state(const NetState& state, Phase phase, caffe::NetParameter& net) {
  auto& own = *net.mutable_state();
  own.set_phase(phase == Phase::train ? caffe::TRAIN : caffe::TEST);
  own.set_level(state.level);
  for (const auto& stage : state.stages) own.add_stage(stage);
}

void read_net_for(const NetState& state, const std::string& file, Phase phase, caffe::NetParameter& net) {
  read_known_net(file, net, all_layers());
  set_state(state, phase, net);
}

void read_solver_for(const NetState& state, const std::string& file, caffe::SolverParameter& solver) {
  read_solver(file, solver);
  auto& own = *solver.mutable_train_state();
  own.set_level(state.level);
  for (const auto& stage : state.stages) own.add_stage(stage);
  if (state.stages.empty()) return;
  // Stages hold for test nets as well: they are other phases of one net. Caffe's flag reaches the training net alone.
  while (solver.test_state_size() < solver.test_iter_size()) solver.add_test_state();
  for (auto& test : *solver.mutable_test_state())
    for (const auto& stage : state.stages) test.add_stage(stage);
}

Flag NetFlags::add_model(Flags& flags, const std::string& what) {
  return flags.add("--model", model_, what).compared_by([this](StartFields& fields) {
    if (model_.empty()) return;
    caffe::NetParameter net;
    read(net);
    add_net(net, "", fields);
  });
}

void NetFlags::add_phase(Flags& flags, const std::string& after) {
  flags.add("--phase", named_phase_, "TRAIN or TEST" + after).one_of({"TRAIN", "TEST"});
}

}  // namespace cortado
