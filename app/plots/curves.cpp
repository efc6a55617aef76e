#include "app/plots/curves.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>

namespace cortado {
namespace {
using Look = ChartLine::Look;
using Points = std::vector<RunSeries::Point>;
constexpr int tones = 8;
constexpr std::size_t most_other_outputs = 6;

/// Values are smoothed over a fiftieth of the run.
std::size_t window_for(const Points& points) { return points.size() < 100 ? 1 : points.size() / 50 | 1U; }

bool is_of_tests(const std::string& name) {
  return name.compare(0, 4, "test") == 0 && name.find('/') != std::string::npos;
}
bool has_word(const std::string& name, const char* word) {
  return name.find(word, name.find('/') + 1) != std::string::npos;
}

void change_values(Points& points, const std::function<double(double)>& change) {
  for (auto& point : points) point.value = change(point.value);
}

/// "test accuracy" of "test/accuracy".
std::string spoken(std::string name) {
  std::replace(name.begin(), name.end(), '/', ' ');
  return name;
}

/// The largest value beside the least one that is positive.
double span_of(const Chart& chart) {
  double low = 1e300, high = 0;
  for (const ChartLine& line : chart.lines)
    for (const auto& point : line.points)
      if (point.value > 0) {
        low = std::min(low, point.value);
        high = std::max(high, point.value);
      }
  return high > 0 ? high / low : 1;
}

class Curves {
 public:
  explicit Curves(const std::vector<SavedRun>& runs) : runs_(runs) {}

  std::vector<Chart> all() {
    losses();
    errors();
    rates();
    speeds();
    other_outputs();
    waits();
    memory();
    return std::move(charts_);
  }

 private:
  std::string named(const std::string& what, std::size_t run) const {
    return runs_.size() == 1 ? what : what + ", " + runs_[run].name;
  }
  /// Of one run, lines of a chart have colours of their own; of several, a run's lines have the run's.
  int tone(std::size_t run, int line) const { return runs_.size() == 1 ? line % tones : tone_of_run(run); }
  void add(Chart& chart, const RunSeries* series, const std::string& what, std::size_t run, int line, Look look) const {
    if (series == nullptr || series->points.empty()) return;
    chart.lines.push_back({named(what, run), series->name, run, tone(run, line), look, series->points});
  }
  /// Each value faintly, and their means.
  void add_smoothed(Chart& chart, const RunSeries* series, const std::string& what, std::size_t run, int line) const {
    if (series == nullptr || series->points.empty()) return;
    const std::size_t window = window_for(series->points);
    if (window > 1) {
      add(chart, series, what, run, line, Look::faint);
      chart.note = "faint: every iteration; strong: mean of " + std::to_string(window);
    }
    add(chart, series, what, run, line, Look::strong);
    chart.lines.back().points = smoothed_points(series->points, window);
  }
  /// Test outputs with that word in their names.
  void add_tests(Chart& chart, const char* word, std::size_t run, int first_line) const {
    for (const RunSeries& series : runs_[run].series)
      if (is_of_tests(series.name) && has_word(series.name, word))
        add(chart, &series, spoken(series.name), run, first_line++, Look::marked);
  }
  void keep(Chart chart) {
    if (!chart.lines.empty()) charts_.push_back(std::move(chart));
  }

  void losses() {
    Chart chart;
    chart.title = "Loss";
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      add_smoothed(chart, runs_[run].find("loss"), "training loss", run, 0);
      add_tests(chart, "loss", run, 1);
    }
    chart.is_log = span_of(chart) > 20;
    keep(std::move(chart));
  }
  void errors() {
    Chart chart;
    chart.title = "Error of tests";
    chart.note = "100 % less the accuracy";
    chart.unit = " %";
    chart.is_log = true;
    for (std::size_t run = 0; run < runs_.size(); ++run) add_tests(chart, "accuracy", run, 1);
    for (ChartLine& line : chart.lines)
      change_values(line.points, [](double accuracy) { return 100 * (1 - accuracy); });
    keep(std::move(chart));
  }
  void rates() {
    Chart chart;
    chart.title = "Learning rate";
    for (std::size_t run = 0; run < runs_.size(); ++run)
      add(chart, runs_[run].find("rate"), "rate", run, 0, Look::steps);
    chart.is_log = span_of(chart) > 8;
    chart.from_zero = true;
    keep(std::move(chart));
  }
  void speeds() {
    Chart chart;
    chart.title = "Images per second";
    chart.from_zero = true;
    for (std::size_t run = 0; run < runs_.size(); ++run)
      add_smoothed(chart, runs_[run].find("images_per_second"), "images per second", run, 0);
    keep(std::move(chart));
  }
  /// A chart for each output of tests that is neither loss nor accuracy; the first few.
  void other_outputs() {
    std::set<std::string> names;
    for (const SavedRun& run : runs_)
      for (const RunSeries& series : run.series)
        if (is_of_tests(series.name) && !has_word(series.name, "loss") && !has_word(series.name, "accuracy") &&
            series.name.find('[') == std::string::npos && series.name.find(" seconds") == std::string::npos)
          names.insert(series.name);
    std::size_t shown = 0;
    for (const std::string& name : names) {
      if (++shown > most_other_outputs) break;
      Chart chart;
      chart.title = spoken(name);
      for (std::size_t run = 0; run < runs_.size(); ++run)
        add(chart, runs_[run].find(name), spoken(name), run, 1, Look::marked);
      keep(std::move(chart));
    }
  }
  /// Shares of an iteration's time, smoothed.
  void waits() {
    Chart chart;
    chart.title = "Waits";
    chart.note = "of the time of an iteration";
    chart.unit = " %";
    chart.from_zero = true;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      const RunSeries* const seconds = runs_[run].find("seconds");
      int line = 0;
      for (const char* kind : {"data", "ranks", "exchange"}) {
        const RunSeries* const waited = runs_[run].find(std::string("waits/") + kind);
        ++line;
        if (waited == nullptr || seconds == nullptr || waited->points.size() != seconds->points.size()) continue;
        Points time = smoothed_points(waited->points, window_for(waited->points));
        const Points all = smoothed_points(seconds->points, window_for(seconds->points));
        double most = 0;
        for (std::size_t i = 0; i < time.size(); ++i)
          most = std::max(most, time[i].value *= 100 / std::max(1e-9, all[i].value));
        if (most < 0.1) continue;  // nothing to see
        add(chart, waited, std::string("for ") + kind, run, line - 1, Look::strong);
        chart.lines.back().points = time;
      }
    }
    keep(std::move(chart));
  }
  void memory() {
    Chart chart;
    chart.title = "Memory of rank 0";
    chart.unit = " MB";
    chart.from_zero = true;
    for (std::size_t run = 0; run < runs_.size(); ++run)
      add(chart, runs_[run].find("memory"), "memory", run, 0, Look::strong);
    for (ChartLine& line : chart.lines) change_values(line.points, [](double bytes) { return bytes / 1e6; });
    keep(std::move(chart));
  }

  const std::vector<SavedRun>& runs_;
  std::vector<Chart> charts_;
};
}  // namespace

int tone_of_run(std::size_t run) { return static_cast<int>(run % tones); }

std::vector<Plot> curves_of(const std::vector<SavedRun>& runs) {
  std::vector<Plot> plots;
  for (const Chart& chart : Curves(runs).all())
    if (auto plot = plot_of(chart)) plots.push_back(std::move(*plot));
  return plots;
}

}  // namespace cortado
