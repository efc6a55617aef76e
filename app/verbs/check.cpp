#include <iostream>
#include <memory>

#include "app/command_line/shared_flags.h"
#include "app/command_line/verb.h"
#include "app/measure/dry_runs.h"
#include "app/measure/idle_threads.h"
#include "app/measure/layer_times.h"
#include "app/measure/memory_fit.h"
#include "app/report/plan_text.h"
#include "app/report/report.h"
#include "app/session/net_flags.h"
#include "app/session/session.h"
#include "app/session/session_flags.h"
#include "app/start/start_fields.h"
#include "app/tune/tuning.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"

namespace cortado {
namespace {
std::string text_of(const std::vector<Shape>& shapes) {
  std::string text;
  for (const Shape& shape : shapes) {
    if (!text.empty()) text += ", ";
    for (std::size_t d = 0; d < shape.size(); ++d) text += (d > 0 ? "x" : "") + std::to_string(shape[d]);
    if (shape.empty()) text += "scalar";
  }
  return text;
}

i64 parameters_of(const Layer& layer) {
  i64 count = 0;
  for (const auto& blob : layer.blobs()) count += blob->count();
  return count;
}

/// The net that a solver names or holds; `file` becomes where it stands.
caffe::NetParameter net_of(const caffe::SolverParameter& solver, const NetFlags& flags, std::string& file) {
  caffe::NetParameter net;
  if (solver.has_net_param() || solver.has_train_net_param()) {
    net = solver.has_net_param() ? solver.net_param() : solver.train_net_param();
    set_state(flags.state(), flags.phase(), net);
    return net;
  }
  const std::string named = solver.has_net() ? solver.net() : solver.train_net();
  if (named.empty()) throw ConfigError(file, "names no net", "give one of net, net_param, train_net, train_net_param");
  file = named;
  read_net_for(flags.state(), file, flags.phase(), net);
  return net;
}

class Check : public Verb {
 public:
  void add_to(Flags& flags) override {
    const Flag model = net_.add_model(flags);
    flags.add("--solver", solver_, "Solver prototxt, whose net is checked")
        .excludes(model)
        .compared_by([this](StartFields& fields) {
          if (solver_.empty()) return;
          caffe::SolverParameter solver;
          read_solver_for(net_.state(), solver_, solver);
          add_solver(solver, fields);
        });
    net_.add_phase(flags);
    flags.add_switch("--explain", explain_, "Also show the plans that each layer passed over, and why");
    flags.add_switch("--passes", passes_, "Also show how passes rewrote the net");
    flags
        .add("--threads", threads_,
             "Also show the programs that would leave threads of a machine with so many without work")
        .positive();
    add_tuning(flags, tuning_);
    add_json(flags, json_);
    session_.add_precision(flags);
    session_.add_without(flags);
    session_.add_memory(flags);
    session_.add_devices(flags);
    session_.add_shape(flags);
    net_.add_state(flags);
  }

  int run(const MpiJob& job) override {
    Session session(job, session_);
    NetOptions net_options = session.net_options();
    caffe::SolverParameter solver;
    std::string file = net_.model();
    caffe::NetParameter parameter;
    const bool tests = net_.phase() == Phase::test;
    if (!solver_.empty()) {
      read_solver(solver_, solver);
      if (session.precision == Precision::bf16) solver.set_precision(caffe::BF16);
      if (solver.precision() == caffe::BF16) net_options.precision = Precision::bf16;
      file = solver_;
      parameter = net_of(solver, net_, file);
    } else if (file.empty()) {
      throw ConfigError("command line", "check needs --model or --solver");
    } else {
      net_.read(parameter);
    }
    if (solver_.empty()) {
      solver = solver_around(parameter, net_options.precision);
    } else {
      solver.mutable_train_state()->set_level(net_.state().level);
      for (const auto& stage : net_.state().stages) solver.mutable_train_state()->add_stage(stage);
    }
    if (session_.memory > 0 && tests)
      throw ConfigError("--memory", "is for training: nothing is made again where there is no backward",
                        "leave it out");
    const TuningTable tuning = read_tuning(session.group.spec(), tuning_);
    fit_memory(session, solver, tuning, session_.memory);
    if (job.rank() != 0) return 0;
    const auto runs = tests ? std::make_unique<DryRuns>(session, parameter, net_options, tuning)
                            : std::make_unique<DryRuns>(session, solver, tuning);
    const Net& net = runs->net();
    session.sources.settle_shapes();
    CORTADO_LOG(info) << tuning.coverage(net);
    const MemoryNeed need = runs->need();

    Report report(
        {{"layer", "layer"}, {"type", "type"}, {"top", "top"}, {"parameters", "parameters"}, {"plans", "plans"}},
        session.group.spec(), {{"model", file}});
    for (std::size_t i = 0; i < net.layers().size(); ++i) {
      const auto& entry = net.layers()[i];
      report.add({{"layer", entry.layer->name()},
                  {"type", entry.type},
                  {"bottom", text_of(runs->bottoms(i))},
                  {"top", text_of(runs->tops(i))},
                  {"parameters", parameters_of(*entry.layer)},
                  {"plans", plans_of(*entry.layer)}});
    }
    nlohmann::json summary = to_json(need);
    std::vector<IdleThreads> idle;
    if (threads_ > 0) {
      net_options.only_scores = tests;
      MachineSpec larger = session.group.spec();
      larger.cpes = threads_;
      idle = idle_threads(session, parameter, net_options, read_tuning(larger, tuning_), threads_);
      summary["idle_threads"] = to_json(idle);
    }
    report.summarize(summary);
    if (runs->planned() > 0)
      std::cout << "a batch of " << need.batch << " is planned as one of " << runs->planned()
                << "; its memory and shapes follow from that\n";
    std::cout << describe(need) << "\n" << report.table();
    if (passes_) std::cout << "\n" << passes_of(net);
    if (explain_) std::cout << "\n" << reasons_of(net);
    if (threads_ > 0) std::cout << "\n" << describe(idle, threads_);
    if (!json_.empty()) report.write_json(json_);
    return 0;
  }

 private:
  NetFlags net_;
  SessionFlags session_;
  std::string solver_, tuning_, json_;
  int threads_ = 0;
  bool explain_ = false, passes_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_check() { return std::make_unique<Check>(); }

}  // namespace cortado
