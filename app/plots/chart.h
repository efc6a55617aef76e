#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/plots/plot.h"
#include "app/record/saved_run.h"

namespace cortado {

/// A line of a chart.
struct ChartLine {
  enum class Look {
    faint,   ///< each value, behind the others
    strong,  ///< a smoothed line
    marked,  ///< few values, each with a mark
    steps    ///< a value holds until the next
  };
  std::string name;    ///< in the texts that appear under the pointer: "training loss, lenet"
  std::string series;  ///< the series that it shows, for who counts them
  std::size_t run = 0;
  int tone = 0;  ///< its colour, of eight
  Look look = Look::strong;
  std::vector<RunSeries::Point> points;
};

/// Lines over iterations.
struct Chart {
  std::string title, note;  ///< `note` in small type behind the title
  bool is_log = false, from_zero = false;
  std::string unit;  ///< behind values: " %"
  std::vector<ChartLine> lines;
};

/// The chart as a plot. Lines of many points are drawn by the least and the largest value of each piece. Values that
/// are no numbers, or not positive on a logarithmic axis, leave a gap. Nothing if no line has a value to show.
std::optional<Plot> plot_of(const Chart& chart);

/// Means over `window` values around each, as many as there are at the ends.
std::vector<RunSeries::Point> smoothed_points(const std::vector<RunSeries::Point>& points, std::size_t window);

}  // namespace cortado
