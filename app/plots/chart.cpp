#include "app/plots/chart.h"

#include <algorithm>
#include <cmath>

#include "app/plots/axis.h"
#include "app/plots/svg.h"

namespace cortado {
namespace {
using Point = RunSeries::Point;
constexpr double chart_width = 640, chart_height = 300, left_side = 62, right_side = 14, above = 12, below = 34;
constexpr std::size_t most_pieces = 600, most_hints = 40;

struct ValueRange {
  double low = 1e300, high = -1e300;
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_empty() const { return low > high; }
};

bool can_show(const Chart& chart, double value) { return std::isfinite(value) && (!chart.is_log || value > 0); }

/// The least and the largest value of each of many pieces, in their order; the points themselves if they are few.
std::vector<Point> thinned(const std::vector<Point>& points) {
  if (points.size() <= 2 * most_pieces) return points;
  std::vector<Point> few;
  for (std::size_t piece = 0; piece < most_pieces; ++piece) {
    const auto begin = points.begin() + static_cast<long>(piece * points.size() / most_pieces),
               end = points.begin() + static_cast<long>((piece + 1) * points.size() / most_pieces);
    auto [least, most] =
        std::minmax_element(begin, end, [](const Point& a, const Point& b) { return a.value < b.value; });
    if (most < least) std::swap(least, most);
    few.push_back(*least);
    if (most != least) few.push_back(*most);
  }
  return few;
}

class ChartPicture {
 public:
  ChartPicture(const Chart& chart, const ValueRange& x, const ValueRange& y)
      : chart_(chart), x_(x.low, x.high, false), y_(low_of(chart, y), high_of(chart, y), chart.is_log) {}

  std::string svg() {
    text_ = "<svg class=\"chart\" viewBox=\"0 0 " + place(chart_width) + " " + place(chart_height) +
            "\" role=\"img\"><title>" + xml_text(chart_.title) + "</title>\n";
    frame();
    for (const ChartLine& line : chart_.lines)
      if (line.look == ChartLine::Look::faint) draw(line);
    for (const ChartLine& line : chart_.lines)
      if (line.look != ChartLine::Look::faint) draw(line);
    for (const ChartLine& line : chart_.lines) hint(line);
    return text_ + "</svg>\n";
  }

 private:
  static double low_of(const Chart& chart, const ValueRange& y) {
    if (chart.is_log) return y.low / 1.1;
    return chart.from_zero && y.low >= 0 ? 0 : y.low - 0.04 * (y.high - y.low);
  }
  static double high_of(const Chart& chart, const ValueRange& y) {
    return chart.is_log ? y.high * 1.1 : y.high + 0.06 * (y.high - (chart.from_zero && y.low >= 0 ? 0 : y.low));
  }
  double across(double value) const { return left_side + x_.at(value) * (chart_width - left_side - right_side); }
  double up(double value) const { return chart_height - below - y_.at(value) * (chart_height - above - below); }
  std::string at(const Point& point) const {
    return place(across(static_cast<double>(point.iteration))) + " " + place(up(point.value));
  }

  void frame() {
    for (const double mark : y_.marks()) {
      const std::string y = place(up(mark));
      text_ += "<path class=\"grid\" d=\"M" + place(left_side) + " " + y + "H" + place(chart_width - right_side) +
               "\"/><text class=\"tick end\" x=\"" + place(left_side - 7) + "\" y=\"" + place(up(mark) + 4) + "\">" +
               figure(mark) + chart_.unit + "</text>\n";
    }
    for (const double mark : x_.marks()) {
      const std::string x = place(across(mark));
      text_ += "<path class=\"grid\" d=\"M" + x + " " + place(above) + "V" + place(chart_height - below) +
               "\"/><text class=\"tick middle\" x=\"" + x + "\" y=\"" + place(chart_height - below + 15) + "\">" +
               figure(mark) + "</text>\n";
    }
    text_ += "<path class=\"axis\" d=\"M" + place(left_side) + " " + place(above) + "V" + place(chart_height - below) +
             "H" + place(chart_width - right_side) + "\"/><text class=\"tick end\" x=\"" +
             place(chart_width - right_side) + "\" y=\"" + place(chart_height - 5) + "\">iteration</text>\n";
  }

  void draw(const ChartLine& line) {
    static const char* const looks[] = {"faint", "strong", "marked", "steps"};
    std::string path, marks;
    bool pen_down = false;
    double last = 0;
    for (const Point& point : thinned(line.points)) {
      if (!can_show(chart_, point.value)) {
        pen_down = false;
        continue;
      }
      if (pen_down && line.look == ChartLine::Look::steps)
        path += "H" + place(across(static_cast<double>(point.iteration)));
      if (!pen_down || line.look != ChartLine::Look::steps || point.value != last)
        path += (pen_down ? "L" : "M") + at(point);
      if (line.look == ChartLine::Look::marked)
        marks += "<circle cx=\"" + place(across(static_cast<double>(point.iteration))) + "\" cy=\"" +
                 place(up(point.value)) + "\" r=\"2.6\"/>";
      pen_down = true;
      last = point.value;
    }
    text_ += "<g class=\"line tone" + std::to_string(line.tone) + " " + looks[static_cast<int>(line.look)] +
             "\" data-run=\"" + std::to_string(line.run) + "\" data-series=\"" + xml_text(line.series) +
             "\" data-points=\"" + std::to_string(line.points.size()) + "\"><path d=\"" + path + "\"/>" + marks +
             "</g>\n";
  }

  /// Places that tell their value under the pointer.
  void hint(const ChartLine& line) {
    if (line.look == ChartLine::Look::faint) return;
    const std::size_t count = line.points.size(), hints = std::min(count, most_hints);
    for (std::size_t i = 0; i < hints; ++i) {
      const Point& point = line.points[hints == count ? i : i * (count - 1) / (hints - 1)];
      if (!can_show(chart_, point.value)) continue;
      text_ += "<circle class=\"hint\" cx=\"" + place(across(static_cast<double>(point.iteration))) + "\" cy=\"" +
               place(up(point.value)) + "\" r=\"7\"><title>" + xml_text(line.name) + "\niteration " +
               std::to_string(point.iteration) + ": " + figure(point.value) + chart_.unit + "</title></circle>";
    }
    text_ += "\n";
  }

  const Chart& chart_;
  const Axis x_, y_;
  std::string text_;
};
}  // namespace

std::optional<Plot> plot_of(const Chart& chart) {
  ValueRange x, y;
  for (const ChartLine& line : chart.lines)
    for (const Point& point : line.points)
      if (can_show(chart, point.value)) {
        x.add(static_cast<double>(point.iteration));
        y.add(point.value);
      }
  if (y.is_empty()) return std::nullopt;
  Plot plot{chart.title, chart.note, chart_width, chart_height, ChartPicture(chart, x, y).svg(), {}};
  if (chart.is_log) plot.note += (plot.note.empty() ? "" : "; ") + std::string("logarithmic");
  for (const ChartLine& line : chart.lines)  // but for faint ones, which belong to others
    if (line.look != ChartLine::Look::faint) plot.legend.push_back({line.tone, line.name});
  if (plot.legend.size() < 2) plot.legend.clear();
  return plot;
}

std::vector<Point> smoothed_points(const std::vector<Point>& points, std::size_t window) {
  std::vector<Point> smooth = points;
  const std::size_t half = window / 2;
  std::vector<double> sums(points.size() + 1);
  for (std::size_t i = 0; i < points.size(); ++i) sums[i + 1] = sums[i] + points[i].value;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t begin = i > half ? i - half : 0, end = std::min(points.size(), i + half + 1);
    smooth[i].value = (sums[end] - sums[begin]) / static_cast<double>(end - begin);
  }
  return smooth;
}

}  // namespace cortado
