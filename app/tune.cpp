#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <vector>

#include "app/bench.h"
#include "app/measure.h"
#include "app/net_sets.h"
#include "app/progress_bar.h"
#include "app/report.h"
#include "app/session.h"
#include "app/tuning.h"
#include "core/base/error.h"
#include "core/tuner/tuner.h"

namespace cortado {
namespace {

/// Runs every trial of the tuner once, then, `iterations` times in all, those of candidates that are not far behind.
void run_trials(Tuner& tuner, Net& net, CoreGroup& group, i64 iterations) {
  const i64 rounds = group.spec().timing_only ? 1 : iterations;
  ProgressBar bar("tuning");
  const auto once = [&] {
    net.forward();
    net.clear_gradients();
    net.backward();
  };
  if (!group.spec().timing_only) once();
  i64 done = 0;
  for (i64 round = 0; round < rounds; ++round) {
    const auto trials = static_cast<i64>(tuner.trials());
    for (i64 trial = 0; trial < trials; ++trial, ++done) {
      bar.show(done, done - trial + (rounds - round) * trials);
      tuner.run(static_cast<std::size_t>(trial), once);
    }
    tuner.drop_beaten();
  }
}

nlohmann::json row_of(const Tuner::Row& row) {
  nlohmann::json json = {{"layer", row.layer},
                         {"direction", row.option.direction},
                         {"shape", row.option.shape},
                         {"plan", row.option.candidate},
                         {"chosen", row.chosen}};
  if (row.seconds > 0) json["ms"] = 1e3 * row.seconds;
  if (row.option.estimate > 0) json["estimate_ms"] = 1e3 * row.option.estimate;
  if (row.seconds > 0 && row.option.estimate > 0) json["estimate_over_measured"] = row.option.estimate / row.seconds;
  if (!row.skipped.empty()) json["reason"] = row.skipped;
  return json;
}

/// How good the analytic model's estimates are.
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
  char text[160];
  std::snprintf(text, sizeof text,
                "estimates: %d, geometric mean of estimate/measured %.3f, farthest off by a factor %.2f\n", count,
                std::exp(logs / count), worst);
  return text;
}

}  // namespace

int tune(Session& session, const Options& options) {
  if (options.tune.collectives) {
    tune_collectives(session, options);
    return 0;
  }
  if (options.model.empty()) throw ConfigError("command line", "tune needs --model or --collectives");
  caffe::NetParameter parameter;
  read_net_for(options, options.model, Phase::train, parameter);
  if (options.timing_only) start_with_zeros(parameter);
  Net net(parameter, session.net_options());
  Tuner tuner(net);
  run_trials(tuner, net, session.group, options.tune.iterations);

  Report report({{"layer", "layer"},
                 {"direction", "direction"},
                 {"plan", "plan"},
                 {"ms", "ms", 3},
                 {"estimate_ms", "estimate ms", 3},
                 {"chosen", "chosen"},
                 {"reason", ""}},
                session.group.spec(), {{"model", options.model}, {"iterations", options.tune.iterations}});
  const auto rows = tuner.rows();
  for (const auto& row : rows)
    if (options.explain || row.skipped.empty()) report.add(row_of(row));
  if (session.job.rank() != 0) return 0;
  std::cout << report.table() << error_of_model(rows);
  const std::string out = options.tune.out.empty() ? "tuning.prototxt" : options.tune.out;
  TuningTable table = empty_tuning(session.group.spec());
  if (std::filesystem::exists(out)) table.read(out);
  tuner.add_to(table);
  table.write(out);
  std::cout << "wrote " << out << "; use it with --tuning " << out << "\n";
  if (!options.json.empty()) report.write_json(options.json);
  return 0;
}

}  // namespace cortado
