#include <iostream>

#include "app/plan_text.h"
#include "app/report.h"
#include "app/session.h"
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

/// The net that `-model` names, or the training net of `-solver`, whose precision then counts.
std::string net_file(const Options& options, Precision& precision) {
  if (!options.model.empty()) return options.model;
  if (options.solver.empty()) throw ConfigError("command line", "check needs --model or --solver");
  caffe::SolverParameter solver;
  read_solver(options.solver, solver);
  if (solver.precision() == caffe::BF16) precision = Precision::bf16;
  const std::string file = solver.has_net() ? solver.net() : solver.train_net();
  if (file.empty()) throw ConfigError(options.solver, "names no net file", "check the net itself with --model");
  return file;
}
}  // namespace

int check(Session& session, const Options& options) {
  caffe::NetParameter parameter;
  NetOptions net_options = session.net_options();
  const std::string file = net_file(options, net_options.precision);
  read_net_for(options, file, options.phase == "TEST" ? Phase::test : Phase::train, parameter);
  const Net net(parameter, net_options);

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
  if (session.job.rank() == 0) {
    std::cout << report.table() << "\n";
    std::cout << reasons_of(net);
    const auto memory = net.memory();
    const auto megabytes = [](i64 bytes) { return static_cast<double>(bytes) / 1e6; };
    std::cout << "memory in MB: activations " << megabytes(memory.activations) << ", their gradients "
              << megabytes(memory.activation_gradients) << ", parameters " << megabytes(memory.parameters)
              << ", their gradients " << megabytes(memory.parameter_gradients) << "\n";
    if (!options.json.empty()) report.write_json(options.json);
  }
  return 0;
}

}  // namespace cortado
