#include "app/predict/predict.h"
#include "app/predict/published_scalednn.h"
#include "app/report/report.h"

namespace cortado {
namespace {

double saved_percent(double now, double before) { return 100 * (1 - now / before); }

nlohmann::json row_of(const ScaleDnn::Run& run) {
  const auto& base = run.baseline;
  return {{"net", run.net},
          {"batch", run.batch},
          {"baseline_ms", 1e3 * base.total},
          {"host_copy_ms", 1e3 * base.host_copy},
          {"scatter_ms", 1e3 * base.scatter},
          {"broadcast_ms", 1e3 * base.broadcast},
          {"compute_ms", 1e3 * base.compute},
          {"reduce_ms", 1e3 * base.reduce},
          {"update_ms", 1e3 * base.update},
          {"preloaded_saved", saved_percent(run.preloaded.total, base.total)},
          {"three_in_one_saved", saved_percent(run.three_in_one.total, base.total)},
          {"bf16_saved", saved_percent(run.bf16.total, base.total)},
          {"movement_saved", saved_percent(run.three_in_one.movement(), base.movement())},
          {"broadcast_saved", saved_percent(run.three_in_one.broadcast, base.broadcast)},
          {"broadcast_saved_bf16", saved_percent(run.bf16.broadcast, base.broadcast)}};
}

}  // namespace

void show_scalednn(const Session& session, const std::string& json) {
  const ScaleDnn paper = simulate_scalednn();
  Report report({{"net", "net"},
                 {"batch", "batch"},
                 {"baseline_ms", "baseline ms", 1},
                 {"host_copy_ms", "host copy", 1},
                 {"scatter_ms", "scatter", 1},
                 {"broadcast_ms", "broadcast", 1},
                 {"compute_ms", "compute", 1},
                 {"reduce_ms", "reduce", 1},
                 {"update_ms", "update", 1},
                 {"preloaded_saved", "split+preload %", 1},
                 {"three_in_one_saved", "+3-in-1 %", 1},
                 {"bf16_saved", "+bf16 %", 1},
                 {"movement_saved", "movement %", 1},
                 {"broadcast_saved", "broadcast %", 1},
                 {"broadcast_saved_bf16", "bf16 %", 1}},
                session.group.spec(), {{"predict", "scalednn"}, {"source", paper.source}});
  for (const ScaleDnn::Run& run : paper.runs) report.add(row_of(run));
  Report beside({{"what", "value"}, {"ours", "ours"}, {"printed", "printed"}}, session.group.spec(), {});
  nlohmann::json all = nlohmann::json::array();
  for (const auto& comparison : paper.comparisons) {
    const nlohmann::json row = {{"what", comparison.what}, {"ours", comparison.ours}, {"printed", comparison.printed}};
    beside.add(row);
    all.push_back(row);
  }
  report.summarize({{"comparisons", all}});
  show(report, session.job,
       "\nTimes are of the baseline on four devices; percentages are saved of its time, and with 3-in-1 of its data\n"
       "movement and its broadcast.\n\n" +
           beside.table() + "\n" + paper.source + ", simulated.\n",
       json);
}

}  // namespace cortado
