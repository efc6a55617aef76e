#include "app/report/timeline_file.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/report/report.h"
#include "core/base/file.h"
#include "core/base/log.h"

namespace cortado {
namespace {
using Json = nlohmann::json;

/// This rank's events, with the names of its lanes.
Json trace_of(const std::vector<Timeline::Event>& events, int rank) {
  Json trace = Json::array();
  std::map<std::string, int> lanes;
  for (const auto& event : events) {
    const auto [lane, is_new] = lanes.emplace(event.lane, static_cast<int>(lanes.size()));
    if (is_new)
      trace.push_back({{"ph", "M"},
                       {"name", "thread_name"},
                       {"pid", rank},
                       {"tid", lane->second},
                       {"args", {{"name", event.lane}}}});
    trace.push_back({{"ph", "X"},
                     {"name", event.name},
                     {"cat", event.kind},
                     {"pid", rank},
                     {"tid", lane->second},
                     {"ts", 1e6 * event.begin},
                     {"dur", 1e6 * event.seconds}});
  }
  trace.push_back(
      {{"ph", "M"}, {"name", "process_name"}, {"pid", rank}, {"args", {{"name", "rank " + std::to_string(rank)}}}});
  return trace;
}

/// Seconds by kind on core group 0; of other lanes "overlapped KIND"; "other" is what is left of the time from the
/// first event to the end of the last.
Json breakdown_of(const std::vector<Timeline::Event>& events, int rank) {
  const std::string main = "core group 0";
  std::map<std::string, double> seconds;
  double begin = 1e300, end = 0, known = 0;
  for (const auto& event : events) {
    const bool is_main = event.lane == main;
    if (!is_main && event.lane.rfind("core group", 0) == 0) continue;  // the same again
    seconds[is_main ? event.kind : "overlapped " + event.kind] += event.seconds;
    if (!is_main) continue;
    known += event.seconds;
    begin = std::min(begin, event.begin);
    end = std::max(end, event.begin + event.seconds);
  }
  const double total = end > begin ? end - begin : 0;
  seconds["other"] = total - known;
  return {{"rank", rank}, {"total", total}, {"seconds", seconds}};
}

void log_breakdown(const Json& breakdown) {
  std::ostringstream line;
  line.precision(3);
  const double total = breakdown["total"].get<double>();
  line << "Rank " << breakdown["rank"] << ", " << total << " s:";
  for (const auto& [kind, seconds] : breakdown["seconds"].items())
    line << ' ' << kind << ' ' << 100 * seconds.get<double>() / (total > 0 ? total : 1) << " %;";
  CORTADO_LOG(info) << line.str();
}

}  // namespace

void write_timeline(const Timeline& timeline, const MpiJob& job, const std::string& file) {
  const auto events = timeline.events();
  const auto texts = job.gather(json_text(Json({trace_of(events, job.rank()), breakdown_of(events, job.rank())})));
  if (job.rank() != 0) return;
  Json trace = Json::array(), breakdowns = Json::array();
  for (const auto& text : texts) {
    const Json one = Json::parse(text);
    trace.insert(trace.end(), one[0].begin(), one[0].end());
    breakdowns.push_back(one[1]);
    log_breakdown(one[1]);
  }
  const std::string text =
      json_text({{"traceEvents", trace}, {"displayTimeUnit", "ms"}, {"breakdown", breakdowns}}) + "\n";
  write_text(file, text);
  CORTADO_LOG(info) << "Wrote " << file << "; open it in Perfetto or chrome://tracing";
}

}  // namespace cortado
