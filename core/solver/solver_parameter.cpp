#include "core/solver/solver_parameter.h"

#include <cmath>
#include <vector>

#include "core/base/error.h"
#include "core/formats/prototxt.h"
#include "core/net/known_net.h"
#include "core/solver/rate.h"
#include "core/solver/solver_type.h"

namespace cortado {
namespace {
void need(bool holds, const std::string& what, const std::string& advice = "") {
  if (!holds) throw ConfigError("solver", what, advice);
}

NamedNet from_file(const std::string& kind, const std::string& file, const LayerTable* layers = nullptr) {
  NamedNet named{kind + " file: " + file, {}};
  if (layers != nullptr)
    read_known_net(file, named.net, *layers);
  else
    read_net(file, named.net);
  return named;
}

/// `phase` is what the net runs in unless its own state, or `above`, says otherwise.
void set_state(caffe::NetParameter& net, caffe::Phase phase, const caffe::NetState& above) {
  caffe::NetState state;
  state.set_phase(phase);
  state.MergeFrom(net.state());
  state.MergeFrom(above);
  *net.mutable_state() = state;
}

int generic_nets(const caffe::SolverParameter& parameter) { return parameter.has_net() + parameter.has_net_param(); }

void check_finite(const caffe::SolverParameter& parameter) {
  const auto& values = *parameter.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  values.ListFields(parameter, &fields);
  for (const auto* const field : fields)
    if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_FLOAT && !field->is_repeated())
      need(std::isfinite(values.GetFloat(parameter, field)), field->name() + " is no finite number");
}

void check_test_counts(const caffe::SolverParameter& parameter) {
  const int named = parameter.test_net_size() + parameter.test_net_param_size();
  const int tests = parameter.test_iter_size();
  if (generic_nets(parameter) > 0)
    need(tests >= named, "has fewer test_iter than test nets", "give one test_iter per test net");
  else
    need(tests == named, std::to_string(tests) + " test_iter for " + std::to_string(named) + " test nets",
         "give one test_iter per test net, in order");
  need(parameter.test_state_size() == 0 || parameter.test_state_size() == tests,
       std::to_string(parameter.test_state_size()) + " test_state for " + std::to_string(tests) + " test nets",
       "give none, or one per test_iter");
  need(tests == 0 || parameter.test_interval() > 0, "has test_iter but no test_interval above 0");
  for (const int passes : parameter.test_iter()) need(passes > 0, "a test_iter is not above 0");
}
}  // namespace

void check_solver(const caffe::SolverParameter& parameter) {
  check_finite(parameter);
  solver_type(parameter).check(parameter);
  check_rate(parameter);
  need(parameter.has_base_lr(), "has no base_lr", "without a rate nothing is learned; base_lr: 0 says so");
  need(parameter.iter_size() >= 1, "iter_size is below 1");
  need(parameter.ema_decay() >= 0 && parameter.ema_decay() < 1, "ema_decay is not at least 0 and below 1");
  need(parameter.loss_scale() > 0, "loss_scale is not positive");
  need(parameter.average_loss() >= 1, "average_loss is below 1");
  need(parameter.max_iter() >= 0, "max_iter is negative");
  need(parameter.display() >= 0, "display is negative");
  need(parameter.snapshot() >= 0, "snapshot is negative");
  need(parameter.snapshot_keep() >= 0, "snapshot_keep is negative");
  need(parameter.test_interval() >= 0, "test_interval is negative");
  need(parameter.regularization_type() == "L2" || parameter.regularization_type() == "L1",
       "unknown regularization_type '" + parameter.regularization_type() + "'", "L1 or L2");
  need(parameter.snapshot() == 0 || !parameter.snapshot_prefix().empty(), "has 'snapshot' but no 'snapshot_prefix'");
  check_test_counts(parameter);
}

std::uint64_t seed_of(const caffe::SolverParameter& parameter) {
  return parameter.random_seed() >= 0 ? static_cast<std::uint64_t>(parameter.random_seed()) : 1;
}

NamedNet training_net(const caffe::SolverParameter& parameter, const LayerTable* layers) {
  constexpr const char* fields = "net, net_param, train_net, train_net_param";
  const int given = generic_nets(parameter) + parameter.has_train_net() + parameter.has_train_net_param();
  need(given > 0, "names no net to train", std::string("give one of ") + fields);
  need(given == 1, "names several nets to train", std::string("give only one of ") + fields);
  NamedNet named;
  if (parameter.has_train_net_param())
    named = {"train_net_param", parameter.train_net_param()};
  else if (parameter.has_train_net())
    named = from_file("train_net", parameter.train_net(), layers);
  else if (parameter.has_net_param())
    named = {"net_param", parameter.net_param()};
  else
    named = from_file("net", parameter.net(), layers);
  set_state(named.net, caffe::TRAIN, parameter.train_state());
  return named;
}

std::vector<NamedNet> test_nets(const caffe::SolverParameter& parameter) {
  std::vector<NamedNet> nets;
  for (const auto& net : parameter.test_net_param()) nets.push_back({"test_net_param", net});
  for (const auto& file : parameter.test_net()) nets.push_back(from_file("test_net", file));
  while (static_cast<int>(nets.size()) < parameter.test_iter_size())
    nets.push_back(parameter.has_net_param() ? NamedNet{"net_param", parameter.net_param()}
                                             : from_file("net", parameter.net()));
  for (std::size_t i = 0; i < nets.size(); ++i)
    set_state(nets[i].net, caffe::TEST,
              parameter.test_state_size() > 0 ? parameter.test_state(static_cast<int>(i)) : caffe::NetState());
  return nets;
}

}  // namespace cortado
