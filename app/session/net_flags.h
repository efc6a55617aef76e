#pragma once
#include <string>
#include <vector>

#include "app/command_line/flags.h"
#include "core/net/layer_table.h"

namespace caffe {
class NetParameter;
class SolverParameter;
}  // namespace caffe

namespace cortado {

/// --level and --stage, for a net's include and exclude rules.
struct NetState {
  int level = 0;
  std::vector<std::string> stages;

  void add_to(Flags& flags);
};

/// Gives a net its state.
void set_state(const NetState& state, Phase phase, caffe::NetParameter& net);
/// Reads a net and sets its state.
void read_net_for(const NetState& state, const std::string& file, Phase phase, caffe::NetParameter& net);
/// Reads a solver and sets the state of its nets.
void read_solver_for(const NetState& state, const std::string& file, caffe::SolverParameter& solver);

/// The net of a verb that has no solver, with its phase and state.
class NetFlags {
 public:
  explicit NetFlags(Phase phase = Phase::train) : phase_(phase) {}

  /// Adds --model. Ranks compare the net, in the phase and state of the other flags.
  Flag add_model(Flags& flags, const std::string& what = "Net prototxt");
  /// Adds --phase; `after` stands behind its words.
  void add_phase(Flags& flags, const std::string& after = "; default TRAIN");
  void add_state(Flags& flags) { state_.add_to(flags); }

  const std::string& model() const { return model_; }
  const NetState& state() const { return state_; }
  Phase phase() const { return named_phase_ == "TEST" ? Phase::test : phase_; }
  /// Reads --model, with its state.
  void read(caffe::NetParameter& net) const { read_net_for(state_, model_, phase(), net); }

 private:
  std::string model_, named_phase_;
  NetState state_;
  Phase phase_;
};

}  // namespace cortado
