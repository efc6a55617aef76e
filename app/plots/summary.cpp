#include <algorithm>
#include <cmath>

#include "app/plots/curves.h"
#include "app/plots/report_page.h"
#include "app/plots/svg.h"

namespace cortado {
namespace {
/// Outputs of tests for a column each; classes and the like would be too many.
constexpr std::size_t most_outputs = 4;

std::vector<std::string> outputs_of(const std::vector<SavedRun>& runs) {
  std::vector<std::string> names;
  for (const SavedRun& run : runs)
    for (const RunSeries& series : run.series) {
      const bool is_output = series.name.compare(0, 4, "test") == 0 && series.name.find('/') != std::string::npos &&
                             series.name.find('[') == std::string::npos;
      if (is_output && names.size() < most_outputs && std::find(names.begin(), names.end(), series.name) == names.end())
        names.push_back(series.name);
    }
  return names;
}

std::string last_value(const RunSeries* series) {
  return series == nullptr || series->points.empty() ? "" : figure(series->points.back().value);
}

/// The mean of its last fiftieth.
std::string last_mean(const RunSeries* series) {
  if (series == nullptr || series->points.empty()) return "";
  const std::size_t count = std::max<std::size_t>(1, series->points.size() / 50);
  double sum = 0;
  for (std::size_t i = series->points.size() - count; i < series->points.size(); ++i) sum += series->points[i].value;
  return figure(sum / static_cast<double>(count));
}

/// Images per second over all iterations, without tests and snapshots.
std::string mean_speed(const SavedRun& run) {
  const RunSeries* const speed = run.find("images_per_second");
  const RunSeries* const seconds = run.find("seconds");
  if (speed == nullptr || seconds == nullptr || speed->points.size() != seconds->points.size()) return "";
  double images = 0, time = 0;
  for (std::size_t i = 0; i < speed->points.size(); ++i) {
    images += speed->points[i].value * seconds->points[i].value;
    time += seconds->points[i].value;
  }
  return time > 0 ? figure(std::round(10 * images / time) / 10) : "";
}

std::string number_cell(const std::string& text) { return "<td class=\"number\">" + text + "</td>"; }

std::string state_of(const SavedRun& run) {
  const std::string state = run.end == "done"      ? "done"
                            : run.end == "stopped" ? "stopped by a signal"
                                                   : "not at its end";
  return run.starts.size() < 2 ? state : state + ", went on " + std::to_string(run.starts.size() - 1) + " ×";
}

std::string row_of(const SavedRun& run, std::size_t number, const std::vector<std::string>& outputs) {
  const RunSeries* const loss = run.find("loss");
  const RunSeries* const seconds = run.find("seconds");
  double time = 0;
  for (std::size_t i = 0; seconds != nullptr && i < seconds->points.size(); ++i) time += seconds->points[i].value;
  std::string row = "<tr><td><span class=\"swatch tone" + std::to_string(tone_of_run(number)) + "\"></span>" +
                    xml_text(run.name) + "</td><td>" + state_of(run) + "</td>";
  row += number_cell(loss == nullptr || loss->points.empty() ? "" : std::to_string(loss->points.back().iteration + 1));
  row += number_cell(last_mean(loss));
  for (const auto& output : outputs) row += number_cell(last_value(run.find(output)));
  const auto ranks = run.record.find("ranks");
  return row + number_cell(mean_speed(run)) + number_cell(duration_text(time)) +
         number_cell(ranks != run.record.end() && ranks->is_number() ? ranks->dump() : "") + "</tr>\n";
}
}  // namespace

std::string summary_part(const std::vector<SavedRun>& runs) {
  const auto outputs = outputs_of(runs);
  std::string head = "<th>run</th><th>state</th>";
  for (const char* name : {"iterations", "training loss"})
    head += "<th class=\"number\">" + std::string(name) + "</th>";
  for (std::string name : outputs) {
    std::replace(name.begin(), name.end(), '/', ' ');
    head += "<th class=\"number\">" + xml_text(name) + "</th>";
  }
  for (const char* name : {"images/s", "training time", "ranks"})
    head += "<th class=\"number\">" + std::string(name) + "</th>";
  std::string rows;
  for (std::size_t i = 0; i < runs.size(); ++i) rows += row_of(runs[i], i, outputs);
  return "<section id=\"summary\"><div class=\"wide\"><table><thead><tr>" + head + "</tr></thead><tbody>\n" + rows +
         "</tbody></table></div></section>\n";
}

}  // namespace cortado
