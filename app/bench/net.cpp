#include <algorithm>

#include "app/bench/bench.h"
#include "app/bench/published.h"
#include "app/measure/layer_times.h"
#include "app/measure/measure.h"
#include "app/measure/net_sets.h"
#include "app/report/progress_bar.h"
#include "app/session/exchange.h"
#include "core/formats/caffe.pb.h"
#include "core/solver/core_groups.h"

namespace cortado {
namespace {

/// A net to train, with the batch of a process, whose core groups share it; 0: the net's own.
struct Work {
  std::string set;
  i64 batch;
  double paper_images_per_s;  ///< 0: not known
};

std::vector<Work> works_of(const SetFlags& sets) {
  std::vector<Work> list;
  for (const auto& set : sets.sets) {
    const PublishedNets published = published_nets(set);
    for (const auto& net : published.nets) {
      const i64 batch = sets.batch > 0 ? sets.batch : net.batch;
      list.push_back({net.name, batch, batch == net.batch ? net.images_per_s : 0});
    }
    if (published.nets.empty()) list.push_back({set, sets.batch, 0});
  }
  return list;
}

/// Memory that training will have taken, the solver's history of one value per parameter included.
i64 memory_of(const Net& net) {
  const auto m = net.memory();
  return m.activations + m.activation_gradients + 2 * m.parameters + m.parameter_gradients;
}

struct NetTimes {
  i64 batch = 0;
  double forward = 0, backward = 0, iteration = 0;  ///< seconds
  double exposed = 0;                               ///< of the exchange, after backward
  bool refused = false;
};

/// Seconds of what is left of the exchange once backward is through.
double time_exposed(Net& net, const SolverOptions& own) {
  if (own.core_groups == 1) return 0;
  net.forward();
  net.clear_gradients();
  net.backward(0, net.layers().size(), [&](std::size_t layer) { own.exchange->layer_finished(net, layer); });
  return milliseconds(*own.group, [&] { own.exchange->finish(net); }) / 1e3;
}

/// One core group's part of timing a net; all core groups do the same.
NetTimes time_part(const SolverOptions& own, const caffe::NetParameter& parameter) {
  CoreGroup& group = *own.group;
  NetTimes times;
  Solver solver(solver_around(parameter), own);
  Net& net = solver.net();
  times.batch = batch_of(net) * own.core_groups;
  times.refused = own.core_groups * memory_of(net) > free_memory(group.spec());
  if (times.refused) return times;
  if (!group.spec().timing_only) {  // memory comes with the first use
    net.forward();
    net.clear_gradients();
    net.backward();
  }
  const LayerTimes layers = time_layers(net, group, 1, true);
  times.forward = layers.forward_sum / 1e3;
  times.backward = layers.backward_sum / 1e3;
  times.exposed = time_exposed(net, own);
  times.iteration = milliseconds(group, [&] { solver.step(1); }) / 1e3;
  return times;
}

void time_net(Session& session, const Work& work, bool host_sums, Report& report) {
  caffe::NetParameter parameter;
  read_set(work.set, work.batch, parameter);
  if (session.group.spec().timing_only) start_with_zeros(parameter);
  SolverOptions with = session.solver_options();
  with.core_groups = session.processor->core_groups();
  with.host_sums = host_sums;
  NetTimes times;
  train_on_core_groups(*session.processor, with, [&](const SolverOptions& own) {
    const NetTimes part = time_part(own, parameter);
    if (own.group->index() == 0) times = part;
  });
  nlohmann::json row = {{"net", work.set},
                        {"batch", times.batch},
                        {"core_groups", with.core_groups},
                        {"exchange", host_sums ? "host_sums" : "packed"}};
  if (times.refused) {
    row["refused"] = "needs more memory than is free";
    return report.add(row);
  }
  const double rate = static_cast<double>(times.batch) / times.iteration;
  row["forward_seconds"] = times.forward;
  row["backward_seconds"] = times.backward;
  row["exposed_seconds"] = times.exposed;
  row["seconds"] = times.iteration;
  row["images_per_s"] = rate;
  if (work.paper_images_per_s > 0) {
    row["paper_images_per_s"] = work.paper_images_per_s;
    row["over_paper"] = rate / work.paper_images_per_s;
  }
  report.add(row);
}

class BenchNet : public Bench {
  void add_own(Flags& flags) override;
  void measure(Session& session) override;

  SetFlags sets_{{"table3"}};
  ExchangeOptions exchange_;
};

void BenchNet::add_own(Flags& flags) {
  sets_.add_to(flags);
  session_.add_core_groups(flags);
  session_.add_without(flags);
  flags
      .add("--exchange", exchange_.exchange,
           "How core groups agree on gradients: packed, after backward (default), or host_sums, meanwhile")
      .one_of({"packed", "host_sums"});
}

void BenchNet::measure(Session& session) {
  const bool host_sums = uses_host_sums(session, exchange_, {});
  const auto works = works_of(sets_);
  const Limits limits = limits_of(session.group);
  Report report({{"net", "net"},
                 {"batch", "batch"},
                 {"core_groups", "core groups"},
                 {"exchange", "exchange"},
                 {"forward_seconds", "forward s", 3},
                 {"backward_seconds", "backward s", 3},
                 {"exposed_seconds", "exposed s", 4},
                 {"seconds", "iteration s", 3},
                 {"images_per_s", "images/s", 2},
                 {"paper_images_per_s", "paper", 2},
                 {"over_paper", "ours/paper", 2},
                 {"refused", ""}},
                session.group.spec(), bench_options("net", sets_, limits));
  ProgressBar bar("training nets");
  for (std::size_t i = 0; i < works.size(); ++i) {
    bar.show(static_cast<i64>(i), static_cast<i64>(works.size()), works[i].set);
    time_net(session, works[i], host_sums, report);
  }
  std::string below =
      "forward and backward: sums over layers, each timed on its own; exposed: what is left of the exchange of "
      "gradients after backward; iteration: with the exchange and the update\n";
  show(session, report, below);
}

}  // namespace

std::unique_ptr<Verb> make_bench_net() { return std::make_unique<BenchNet>(); }

}  // namespace cortado
