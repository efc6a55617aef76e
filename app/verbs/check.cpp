#include <iostream>
#include <memory>

#include "app/measure/layer_times.h"
#include "app/measure/memory_need.h"
#include "app/report/plan_text.h"
#include "app/report/report.h"
#include "app/session/session.h"
#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"

namespace cortado {
namespace {
std::string shapes_of(const Layer::Blobs& blobs) {
  std::string text;
  for (const Blob* blob : blobs) {
    if (!text.empty()) text += ", ";
    for (std::size_t d = 0; d < blob->shape().size(); ++d)
      text += (d > 0 ? "x" : "") + std::to_string(blob->shape()[d]);
    if (blob->shape().empty()) text += "scalar";
  }
  return text;
}

i64 parameters_of(const Layer& layer) {
  i64 count = 0;
  for (const auto& blob : layer.blobs()) count += blob->count();
  return count;
}

/// The net that a solver trains.
std::string net_file(const std::string& name, const caffe::SolverParameter& solver) {
  std::string file = solver.has_net() ? solver.net() : solver.train_net();
  if (file.empty()) throw ConfigError(name, "names no net file", "check the net itself with --model");
  return file;
}
}  // namespace

int check(Session& session, const Options& options) {
  NetOptions net_options = session.net_options();
  caffe::SolverParameter solver;
  std::string file = options.model;
  caffe::NetParameter parameter;
  const bool tests = options.phase == "TEST";
  if (!options.solver.empty()) {
    read_solver(options.solver, solver);
    if (solver.precision() == caffe::BF16) net_options.precision = Precision::bf16;
    file = net_file(options.solver, solver);
  } else if (file.empty()) {
    throw ConfigError("command line", "check needs --model or --solver");
  }
  read_net_for(options, file, tests ? Phase::test : Phase::train, parameter);
  if (options.solver.empty()) {
    solver = solver_around(parameter, net_options.precision);
  } else {
    solver.mutable_train_state()->set_level(options.level);
    for (const auto& stage : options.stages) solver.mutable_train_state()->add_stage(stage);
  }
  if (session.job.rank() != 0) return 0;
  const auto run =
      tests ? std::make_unique<DryRun>(session, parameter, net_options) : std::make_unique<DryRun>(session, solver);
  const Net& net = run->net();

  Report report(
      {{"layer", "layer"}, {"type", "type"}, {"top", "top"}, {"parameters", "parameters"}, {"plans", "plans"}},
      session.group.spec(), {{"model", file}});
  for (const auto& entry : net.layers())
    report.add({{"layer", entry.layer->name()},
                {"type", entry.type},
                {"bottom", shapes_of(entry.bottom)},
                {"top", shapes_of(entry.top)},
                {"parameters", parameters_of(*entry.layer)},
                {"plans", plans_of(*entry.layer)}});
  report.summarize(to_json(run->need()));
  std::cout << describe(run->need()) << "\n" << report.table();
  if (options.explain) std::cout << "\n" << reasons_of(net);
  if (!options.json.empty()) report.write_json(options.json);
  return 0;
}

}  // namespace cortado
