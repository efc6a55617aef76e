#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>

#include "app/measure/layer_times.h"
#include "app/measure/measure.h"
#include "app/predict/measured_work.h"
#include "app/predict/predict.h"
#include "app/report/progress_bar.h"
#include "app/report/report.h"
#include "app/session/exchange.h"
#include "app/tune/tuning.h"
#include "comm/collective/measure_network.h"
#include "comm/predict/speedup.h"
#include "comm/wait/calls.h"
#include "core/base/error.h"
#include "core/formats/caffe.pb.h"

namespace cortado {
namespace {
constexpr int rounds = 7;

/// A training net on this rank, with what joins it to the others, and what its rounds took.
struct Candidate {
  std::string exchange;  ///< "alone": with none
  std::unique_ptr<GradientExchange> joined;
  std::unique_ptr<Solver> solver;
  /// Seconds of an iteration, by round: the mean over ranks, and of the slowest rank of each iteration.
  std::vector<double> own, slowest;
};

/// The network's constants, by round.
class Networks {
 public:
  void add(const Network& network) { all_.push_back(network); }
  Network median_of_each() const {
    Network network;
    for (const auto constant :
         {&Network::byte_summed, &Network::sum_start, &Network::meeting, &Network::byte_in_memory})
      network.*constant = median_of([&](const Network& one) { return one.*constant; });
    for (const auto link : {&Network::in_node, &Network::inside, &Network::across}) {
      network.*link = {{{0, median_of([&](const Network& one) { return (one.*link).seconds(0); })}},
                       median_of([&](const Network& one) { return (one.*link).bandwidth; }),
                       median_of([&](const Network& one) { return (one.*link).gap; }),
                       (all_[0].*link).in_order};
    }
    return network;
  }

 private:
  template <class Value>
  double median_of(Value value) const {
    std::vector<double> values;
    for (const Network& one : all_) values.push_back(value(one));
    return median(values);
  }
  std::vector<Network> all_;
};

class PredictionCheck {
 public:
  PredictionCheck(const Session& session, const PredictFlags& flags)
      : session_(session),
        flags_(flags),
        tuning_(read_tuning(session.group.spec(), flags.tuning, session.job.replicas())),
        communicator_(session.job.replicas().communicator()),
        team_(communicator_, session.group),
        codec_(codec_of(flags, "dynamic_tree8")) {
    flags.net.read(net_);
    add("alone");
    for (const char* name : {"packed", "buckets", "coded"})
      if (flags.exchange.exchange.empty() || flags.exchange.exchange == name) add(name);
    if (candidates_.size() == 1)
      throw ConfigError("exchange '" + flags.exchange.exchange + "'", "is not predicted",
                        "there are: packed, buckets, coded");
  }

  void run() {
    Work work = work_of(candidates_[0].solver->net());
    measure_work(*candidates_[0].solver, session_.group, flags_.iterations, work);
    Coding coding = measured_coding(session_.group, codec_);
    coding.encode = slowest(coding.encode);
    coding.decode = slowest(coding.decode);
    measure();
    fit(work, median(candidates_[0].own));
    report(work, networks_.median_of_each(), coding);
  }

 private:
  void add(const std::string& exchange) {
    caffe::SolverParameter parameter = solver_around(net_, session_.precision);
    SolverOptions with = session_.solver_options();
    with.tuning = &tuning_;
    Candidate candidate;
    candidate.exchange = exchange;
    if (exchange != "alone") {
      ExchangeOptions own = flags_.exchange;
      own.exchange = exchange;
      own.codec = exchange == "coded" ? codec_.name() : "";
      if (exchange == "coded") own.allreduce.clear();
      candidate.joined = make_exchange(session_, own, parameter, team_, nullptr);
      with.replicas = &session_.job.replicas();
      with.exchange = candidate.joined.get();
    }
    candidate.solver = std::make_unique<Solver>(parameter, with);
    candidates_.push_back(std::move(candidate));
  }

  double slowest(double seconds) const {
    all_reduce(communicator_, "collective 'times'", &seconds, 1, MPI_DOUBLE, MPI_MAX);
    return seconds;
  }

  /// In turn, so that all see the same of what else the machine does.
  void measure() {
    ProgressBar bar("training");
    for (int round = -1; round < rounds; ++round) {  // the first warms up
      for (Candidate& candidate : candidates_) run_round(candidate, round >= 0);
      const Network network = measure_network(team_.team(), false);
      if (round >= 0) networks_.add(network);
      if (session_.job.rank() == 0) bar.show(round + 2, rounds + 1);
    }
  }
  void run_round(Candidate& candidate, bool counts) const {
    std::vector<double> seconds;
    barrier(communicator_, "collective 'meet'");
    for (i64 i = 0; i < flags_.iterations; ++i) {
      const double begin = MPI_Wtime();
      candidate.solver->step(1);
      session_.group.wait();
      seconds.push_back(MPI_Wtime() - begin);
    }
    const int n = static_cast<int>(seconds.size());
    const auto mean = [&] { return std::accumulate(seconds.begin(), seconds.end(), 0.0) / n; };
    double own = mean();
    all_reduce(communicator_, "collective 'times'", &own, 1, MPI_DOUBLE, MPI_SUM);
    all_reduce(communicator_, "collective 'times'", seconds.data(), n, MPI_DOUBLE, MPI_MAX);
    if (!counts) return;
    candidate.own.push_back(own / session_.job.size());
    candidate.slowest.push_back(mean());
  }

  /// The layers' shares of an iteration stay.
  static void fit(Work& work, double iteration) {
    for (LayerWork& layer : work.layers)
      for (double* const part : {&layer.forward, &layer.backward, &layer.update}) *part *= iteration / work.iteration;
    work.iteration = iteration;
  }

  Prediction prediction_of(const std::string& exchange, const Work& work, const Network& network,
                           const Coding& coding) const {
    Links links;
    links.devices_per_node = shape_of(team_.topology()).node_ranks;
    links.inside = links.devices_per_node > 1 ? network.in_node : network.inside;
    links.across = network.inside;
    Parallelism how;
    how.fully_connected = FullyConnected::data;
    how.hidden_behind = exchange == "buckets" ? HiddenBehind::next_forward : HiddenBehind::nothing;
    if (exchange != "coded") {
      how.sum = [&](int, i64 values) {
        const auto choice =
            team_.allreduce(flags_.exchange.allreduce.empty() ? "auto" : flags_.exchange.allreduce, 4 * values);
        return choice.cost(network, shape_of(team_.topology()), 4 * values);
      };
    }
    return predict(work, links, exchange == "coded" ? coding : Coding(), how, session_.job.size());
  }

  /// The one that messages of all ranks wait for.
  const Link& link_of(const Network& network) const {
    return team_.topology().nodes() > 1 ? network.inside : network.in_node;
  }

  void report(const Work& work, const Network& network, const Coding& coding) const {
    Report table({{"exchange", "exchange"},
                  {"alone_ms", "alone ms", 3},
                  {"waiting_ms", "waiting ms", 3},
                  {"exposed_ms", "exchange ms", 3},
                  {"predicted_ms", "predicted ms", 3},
                  {"measured_ms", "measured ms", 3},
                  {"ratio", "predicted/measured"},
                  {"predicted_speedup", "predicted speed-up"},
                  {"measured_speedup", "measured"}},
                 session_.group.spec(),
                 {{"predict", "check"},
                  {"model", flags_.net.model()},
                  {"ranks", session_.job.size()},
                  {"topology", team_.topology().describe()},
                  {"codec", codec_.name()},
                  {"iterations", flags_.iterations},
                  {"latency_us", 1e6 * link_of(network).seconds(0)},
                  {"gbytes_per_s", 1e-9 * link_of(network).bandwidth},
                  {"encode_ns", 1e9 * coding.encode},
                  {"decode_ns", 1e9 * coding.decode}});
    // An exchange ends when the slowest has come.
    const double waiting = std::max(0.0, median(candidates_[0].slowest) - work.iteration);
    for (const Candidate& candidate : candidates_) {
      if (candidate.exchange == "alone") continue;
      const Prediction p = prediction_of(candidate.exchange, work, network, coding);
      const double predicted = p.iteration + waiting, measured = median(candidate.own);
      table.add({{"exchange", candidate.exchange},
                 {"alone_ms", 1e3 * work.iteration},
                 {"waiting_ms", 1e3 * waiting},
                 {"exposed_ms", 1e3 * p.exposed_gradients},
                 {"predicted_ms", 1e3 * predicted},
                 {"measured_ms", 1e3 * measured},
                 {"ratio", predicted / measured},
                 {"predicted_speedup", session_.job.size() * work.iteration / predicted},
                 {"measured_speedup", session_.job.size() * work.iteration / measured}});
    }
    const std::string text = fmt::format(
        "\n{}, batch {} a rank, {}. Alone: all ranks train at once without exchange; waiting: of "
        "each iteration for its slowest rank. Messages: {:.1f} us and "
        "{:.2f} GB/s; {}: {:.2f} ns to encode a value, {:.2f} to decode. Medians of {} rounds in turn.\n",
        net_.name(), work.batch, team_.topology().describe(), 1e6 * link_of(network).seconds(0),
        1e-9 * link_of(network).bandwidth, codec_.name(), 1e9 * coding.encode, 1e9 * coding.decode, rounds);
    show(table, session_.job, text, flags_.json);
  }

  const Session& session_;
  const PredictFlags& flags_;
  const TuningTable tuning_;
  MPI_Comm const communicator_;
  JobTeam team_;
  const Codec& codec_;
  caffe::NetParameter net_;
  std::vector<Candidate> candidates_;
  Networks networks_;
};

}  // namespace

void check_prediction(const Session& session, const PredictFlags& flags) {
  if (session.job.size() == 1)
    throw ConfigError("command line", "predict --check needs several ranks", "run it under mpirun -n 2");
  PredictionCheck(session, flags).run();
}

}  // namespace cortado
