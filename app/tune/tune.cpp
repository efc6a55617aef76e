#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <filesystem>
#include <iostream>
#include <vector>

#include "app/command_line/shared_flags.h"
#include "app/command_line/verb.h"
#include "app/measure/measure.h"
#include "app/measure/memory_need.h"
#include "app/measure/net_sets.h"
#include "app/report/progress_bar.h"
#include "app/report/report.h"
#include "app/session/net_flags.h"
#include "app/session/session.h"
#include "app/session/session_flags.h"
#include "app/tune/collectives.h"
#include "app/tune/layout_tuner.h"
#include "app/tune/tuned_times.h"
#include "app/tune/tuning.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/tuner/tuner.h"

namespace cortado {
namespace {

/// Runs every trial of the tuner twice, then, `iterations` times in all, those of candidates that are not far behind.
/// Those that noise does not tell apart run up to as many times again. Returns how many choices stay in doubt.
std::size_t run_trials(Tuner& tuner, Net& net, CoreGroup& group, i64 iterations) {
  const i64 rounds = group.spec().timing_only ? 1 : iterations;
  ProgressBar bar("tuning");
  const auto once = [&] {
    net.forward();
    net.clear_gradients();
    net.backward();
  };
  if (!group.spec().timing_only) once();
  i64 done = 0;
  const auto run_round = [&](i64 rounds_left) {
    const auto trials = static_cast<i64>(tuner.trials());
    for (i64 trial = 0; trial < trials; ++trial, ++done) {
      bar.show(done, done - trial + rounds_left * trials);
      tuner.run(static_cast<std::size_t>(trial), once);
    }
  };
  for (i64 round = 0; round < rounds; ++round) {
    run_round(rounds - round);
    tuner.drop_beaten();
  }
  std::size_t doubtful = tuner.keep_doubtful();
  for (i64 round = 0; round < rounds && doubtful > 0; ++round) {
    run_round(rounds - round);
    doubtful = tuner.keep_doubtful();
  }
  return doubtful;
}

nlohmann::json row_of(const Tuner::Row& row) {
  nlohmann::json json = {{"layer", row.layer},
                         {"direction", row.option.direction},
                         {"shape", row.option.shape},
                         {"plan", row.option.candidate},
                         {"chosen", row.chosen}};
  if (row.seconds > 0) json["ms"] = 1e3 * row.seconds;
  if (row.spread > 0) json["spread"] = row.spread;
  if (row.option.estimate > 0) json["estimate_ms"] = 1e3 * row.option.estimate;
  if (row.seconds > 0 && row.option.estimate > 0) json["estimate_over_measured"] = row.option.estimate / row.seconds;
  if (!row.skipped.empty()) json["reason"] = row.skipped;
  return json;
}

/// The table of layouts, and what whole iterations took.
std::string text_of(const LayoutTimes& times) {
  std::string text;
  for (const auto& row : times.rows)
    text += fmt::format("layout of {}: {} (nchw {:.3f} ms, nchw16c {:.3f} ms)\n", row.shape, to_string(row.chosen),
                        1e3 * row.planes, 1e3 * row.blocks);
  text += fmt::format("an iteration: nchw {:.1f} ms, nchw16c {:.1f} ms", 1e3 * times.planes, 1e3 * times.blocks);
  if (times.mixed > 0) text += fmt::format(", the better for every shape {:.1f} ms", 1e3 * times.mixed);
  return text + "\n";
}

std::string text_of(const TunedTimes& times) {
  return fmt::format(
      "an iteration without tuning: {:.1f} ms ({:.1f} to {:.1f}), as tuned: {:.1f} ms ({:.1f} to {:.1f}), ratio "
      "{:.3f}\n",
      1e3 * times.before.median, 1e3 * times.before.least, 1e3 * times.before.most, 1e3 * times.after.median,
      1e3 * times.after.least, 1e3 * times.after.most, times.after.median / times.before.median);
}

/// The quality of the analytic model's estimates.
std::string error_of_model(const std::vector<Tuner::Row>& rows) {
  double logs = 0, worst = 1;
  int count = 0;
  for (const auto& row : rows) {
    if (row.seconds <= 0 || row.option.estimate <= 0) continue;
    const double ratio = row.option.estimate / row.seconds;
    logs += std::log(ratio);
    worst = std::max(worst, std::max(ratio, 1 / ratio));
    ++count;
  }
  if (count == 0) return "no estimates to compare with\n";
  return fmt::format("estimates: {}, geometric mean of estimate/measured {:.3f}, farthest off by a factor {:.2f}\n",
                     count, std::exp(logs / count), worst);
}

class Tune : public Verb {
 public:
  void add_to(Flags& flags) override {
    const Flag model = net_.add_model(flags);
    const Flag collectives =
        flags
            .add_switch(
                "--collectives", collectives_,
                "Instead: the fastest allreduce, reduce and broadcast of every length for this job, to rules; run "
                "under mpirun")
            .excludes(model);
    flags.add("--sizes", sizes_, "Of --collectives: bytes; default 4 KB to 64 MB").not_negative().needs(collectives);
    add_topology(flags, topology_);
    flags.add("--iterations", iterations_, "Runs of every plan that is not far behind, of which the best counts")
        .shows_default()
        .positive();
    flags.add_switch("--explain", explain_, "Also show plans that were not tried, and why").excludes(collectives);
    flags
        .add("--out", out_,
             "Tuning file to write or add to, or rules to write; default tuning.prototxt, or collectives.json")
        .names_output();
    add_json(flags, json_);
    session_.add_precision(flags);
    session_.add_without(flags);
    session_.add_shape(flags);
    net_.add_state(flags);
    session_.add_devices(flags);
    session_.add_simulator(flags);
  }

  int run(const MpiJob& job) override {
    const Session session(job, session_);
    if (collectives_)
      tune_collectives(session, {sizes_, topology_, iterations_, out_.empty() ? "collectives.json" : out_, json_});
    else if (net_.model().empty())
      throw ConfigError("command line", "tune needs --model or --collectives");
    else
      advising_on_memory([] { return "tuning holds two nets: give a smaller batch_size"; }, [&] { tune_net(session); });
    return 0;
  }

 private:
  void tune_net(const Session& session) const {
    caffe::NetParameter parameter;
    net_.read(parameter);
    if (session_.timing_only) start_with_zeros(parameter);
    const std::string out = out_.empty() ? "tuning.prototxt" : out_;
    TuningTable table = empty_tuning(session.group.spec());
    if (exists(out)) table.read(out);

    auto net = net_in(session, parameter, Layout::nchw), blocks = net_in(session, parameter, Layout::nchw16c);
    session.sources.settle_shapes();
    std::vector<Tuner::Row> rows;
    std::string more;
    std::size_t doubtful = 0;
    const bool chooses_layouts = has_blocks(*blocks);
    for (Net* const one : {net.get(), blocks.get()}) {
      if (one == blocks.get() && !chooses_layouts) continue;
      Tuner tuner(*one);
      doubtful += run_trials(tuner, *one, session.group, iterations_);
      one->use_plans(tuner.best());
      tuner.add_to(table);
      for (const auto& row : tuner.rows()) rows.push_back(row);
    }
    if (chooses_layouts) more = text_of(tune_layouts(session, parameter, *net, *blocks, iterations_, table));
    net.reset(), blocks.reset();
    more += text_of(time_tuned(session, parameter, table, iterations_));
    report(session, rows, more);
    if (doubtful > 0)
      CORTADO_LOG(warning) << "Noise hides which candidate is the fastest; choices in doubt: " << doubtful
                           << " (tune on an idle machine, or with more --iterations)";
    if (session.job.rank() != 0) return;
    table.write(out);
    std::cout << "wrote " << printable(out) << "; use it with --tuning " << printable(out) << "\n";
  }

  void report(const Session& session, const std::vector<Tuner::Row>& rows, const std::string& more) const {
    Report report({{"layer", "layer"},
                   {"direction", "direction"},
                   {"plan", "plan"},
                   {"ms", "ms", 3},
                   {"spread", "spread", 2},
                   {"estimate_ms", "estimate ms", 3},
                   {"chosen", "chosen"},
                   {"reason", ""}},
                  session.group.spec(), {{"model", net_.model()}, {"iterations", iterations_}});
    for (const auto& row : rows)
      if (explain_ || row.skipped.empty()) report.add(row_of(row));
    show(report, session.job, error_of_model(rows) + more, json_);
  }

  NetFlags net_;
  SessionFlags session_;
  bool collectives_ = false, explain_ = false;
  std::vector<i64> sizes_;
  TopologyRules topology_;
  i64 iterations_ = 5;
  std::string out_, json_;
};

}  // namespace

std::unique_ptr<Verb> make_tune() { return std::make_unique<Tune>(); }

}  // namespace cortado
