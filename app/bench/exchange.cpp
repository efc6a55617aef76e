#include "app/session/exchange.h"

#include <algorithm>
#include <cmath>

#include "app/bench/bench.h"
#include "app/measure/measure.h"
#include "app/measure/net_sets.h"
#include "app/report/progress_bar.h"
#include "comm/collective/messages.h"
#include "comm/exchange/coded_allreduce.h"
#include "comm/exchange/packed_allreduce.h"
#include "comm/wait/calls.h"
#include "core/base/error.h"
#include "core/base/random.h"

namespace cortado {
namespace {

/// A way to sum gradients, and what its rounds gave.
struct ExchangeTrial {
  std::string exchange, codec;
  double bits;  ///< a value as it is sent
  std::unique_ptr<GradientExchange> joined;
  std::vector<double> seconds = {};  ///< by round, means over ranks
  double error = 0;                  ///< of the first round's mean gradient
  std::vector<double> total = {};    ///< mean gradients of all rounds
};

double norm(const std::vector<double>& x) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  return std::sqrt(squares);
}

/// Percent of what is due, in the mean over squares.
double percent_off(std::vector<double> given, const std::vector<double>& due) {
  for (std::size_t i = 0; i < due.size(); ++i) given[i] -= due[i];
  return 100 * norm(given) / norm(due);
}

void add(const std::vector<double>& x, std::vector<double>& y) {
  y.resize(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] += x[i];
}

/// Exchanges in turn, on the same gradients.
class ExchangeTrials {
 public:
  ExchangeTrials(Session& session, const TopologyRules& topology, Net& net)
      : group_(session.group),
        job_(session.job.replicas().communicator(), group_, topology.places),
        net_(net),
        gradients_(static_cast<std::size_t>(net.gradient_arena()->count)),
        looked_at_(std::min<std::size_t>(gradients_.size(), std::size_t{1} << 20)) {
    learn_collectives(session, job_, topology, false);
  }
  JobTeam& job() { return job_; }

  void add_trials(const std::vector<std::string>& names) {
    trials_.push_back({"packed", "fp32", 32, std::make_unique<PackedAllreduce>(job_, group_, "auto")});
    for (const Codec* const codec : codecs()) {
      const bool is_named = std::find(names.begin(), names.end(), codec->name()) != names.end();
      if (names.empty() ? std::isfinite(codec->limit()) : !is_named) continue;
      constexpr i64 many = i64{1} << 20;
      const double bits = 8.0 * static_cast<double>(codec->encoded_bytes(many)) / static_cast<double>(many);
      const auto join = [&](const char* exchange, CodedAllreduce::Way way) {
        trials_.push_back({exchange, codec->name(), bits, std::make_unique<CodedAllreduce>(job_, group_, *codec, way)});
      };
      join("coded", CodedAllreduce::Way::once);
      join("coded_hops", CodedAllreduce::Way::hops);
    }
  }

  /// A round that only counts for errors, as memory comes with it, and `rounds` more.
  void run(i64 rounds) {
    ProgressBar bar("exchanging");
    for (i64 round = 0; round <= rounds; ++round) {
      draw(round);
      const std::vector<double> due = exact_mean();
      add(due, due_);
      for (ExchangeTrial& trial : trials_) run(trial, round, due);
      if (job_.team().rank() == 0) bar.show(round + 1, rounds + 1);
    }
  }

  void report(Report& to) const {
    const double packed = median(trials_[0].seconds);
    for (const ExchangeTrial& trial : trials_)
      to.add({{"exchange", trial.exchange},
              {"codec", trial.codec},
              {"bits", trial.bits},
              {"milliseconds", 1e3 * median(trial.seconds)},
              {"of_packed", packed / median(trial.seconds)},
              {"error", trial.error},
              {"total_error", percent_off(trial.total, due_)}});
  }

 private:
  /// Many small numbers and few large ones: a part that is the same on all ranks and in all rounds, and one of each.
  void draw(i64 round) {
    const auto number = [](std::uint64_t key, std::size_t i) {
      const float u = 2 * random_uniform(key, i) - 1;
      return u * u * u;
    };
    const auto own = static_cast<std::uint64_t>(1 + round * job_.topology().ranks() + job_.team().rank());
    for (std::size_t i = 0; i < gradients_.size(); ++i) gradients_[i] = number(0, i) + number(own, i);
  }

  /// The exact mean of the values that errors are taken of.
  std::vector<double> exact_mean() const {
    std::vector<double> mean(gradients_.begin(), gradients_.begin() + static_cast<std::ptrdiff_t>(looked_at_));
    all_reduce(job_.team().communicator, "collective 'mean'", mean.data(), static_cast<int>(looked_at_), MPI_DOUBLE,
               MPI_SUM);
    for (double& value : mean) value /= job_.topology().ranks();
    return mean;
  }

  void run(ExchangeTrial& trial, i64 round, const std::vector<double>& due) {
    float* const arena = net_.gradient_arena()->data;
    group_.copy(arena, gradients_.data(), gradients_.size() * 4);
    group_.wait();
    meet(job_.team());
    double seconds = -MPI_Wtime();
    const float factor = trial.joined->finish(net_);
    seconds += MPI_Wtime();
    all_reduce(job_.team().communicator, "collective 'times'", &seconds, 1, MPI_DOUBLE, MPI_SUM);
    if (round > 0) trial.seconds.push_back(seconds / job_.topology().ranks());

    std::vector<float> sums(looked_at_);
    group_.copy(sums.data(), arena, looked_at_ * 4);
    group_.wait();
    std::vector<double> mean(sums.begin(), sums.end());
    for (double& value : mean) value *= factor;
    if (round == 0) trial.error = percent_off(mean, due);
    add(mean, trial.total);
  }

  CoreGroup& group_;
  JobTeam job_;
  Net& net_;
  std::vector<float> gradients_;
  const std::size_t looked_at_;  // enough for errors: their exact sum takes 8 bytes a value
  std::vector<double> due_;      // of all rounds
  std::vector<ExchangeTrial> trials_;
};

class BenchExchange : public Bench {
  void add_own(Flags& flags) override;
  void measure(Session& session) override;

  std::string set_ = "alexnet";
  std::vector<std::string> codecs_;  // empty: all for gradients
  i64 rounds_ = 5;
  TopologyRules topology_;
};

void BenchExchange::add_own(Flags& flags) {
  add_one_set(flags, set_, "Folder of models/ or net prototxt whose parameters are summed; default alexnet");
  flags.add("--codecs", codecs_,
            "Some of them, separated by commas, of " + codec_names() + "; default all for gradients");
  add_rounds(flags, rounds_);
  add_topology(flags, topology_);
}

void BenchExchange::measure(Session& session) {
  for (const std::string& name : codecs_) find_codec(name);
  if (session.job.size() == 1)
    throw ConfigError("bench exchange", "has one rank, which exchanges nothing", "run it by mpirun -n N, N 2 or more");
  caffe::NetParameter parameter;
  read_set(set_, 1, parameter);
  start_with_zeros(parameter);
  Net net(parameter, session.net_options());
  if (net.gradient_arena()->count == 0)
    throw ConfigError("--set " + set_, "has no parameters", "give a net that learns");
  ExchangeTrials trials(session, topology_, net);
  trials.add_trials(codecs_);
  trials.run(rounds_);

  const i64 values = net.gradient_arena()->count;
  Report report({{"exchange", "exchange"},
                 {"codec", "codec"},
                 {"bits", "bits", 3},
                 {"milliseconds", "ms", 1},
                 {"of_packed", "packed/this"},
                 {"error", "error %"},
                 {"total_error", "in sum %"}},
                session.group.spec(),
                {{"bench", "exchange"},
                 {"set", set_},
                 {"values", values},
                 {"ranks", session.job.size()},
                 {"topology", trials.job().topology().describe()},
                 {"rounds", rounds_}});
  trials.report(report);
  show(session, report,
       std::to_string(values) + " gradients, " + trials.job().topology().describe() +
           ". Errors of the mean gradient, relative to its size (root of mean squares): of one exchange, and of the "
           "sum of " +
           std::to_string(rounds_ + 1) + ".\n");
}

}  // namespace

std::unique_ptr<Verb> make_bench_exchange() { return std::make_unique<BenchExchange>(); }

}  // namespace cortado
