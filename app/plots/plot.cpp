#include "app/plots/plot.h"

#include <algorithm>

#include "app/plots/report_style.h"
#include "app/plots/svg.h"

namespace cortado {
namespace {
constexpr double column = 640, gap = 30, title_room = 26, legend_row = 18, letter = 6.6, swatch = 22;

/// Figures under each other, in two columns where they are narrow.
class Sheet {
 public:
  void add(const Plot& plot) {
    const bool is_wide = plot.width > column;
    if (is_wide) next_row();
    const double left = gap + static_cast<double>(in_row_) * (column + gap);
    bottom_ = std::max(bottom_, draw(plot, left, is_wide ? 2 * column + gap : column));
    width_ = std::max(width_, is_wide ? 2 * column + 3 * gap : left + column + gap);
    if (is_wide || ++in_row_ == 2) next_row();
  }

  std::string svg() {
    next_row();
    const std::string size = "width=\"" + place(width_) + "\" height=\"" + place(top_) + "\"";
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" " + size + " viewBox=\"0 0 " + place(width_) + " " + place(top_) +
           "\"><style>" + picture_style() + "</style>\n<rect " + size + " fill=\"#fff\"/>\n" + body_ + "</svg>\n";
  }

 private:
  void next_row() {
    if (bottom_ > top_) top_ = bottom_ + gap;
    in_row_ = 0;
  }

  /// Returns where it ends.
  double draw(const Plot& plot, double left, double width) {
    double y = top_ + title_room;
    body_ += "<text class=\"title\" x=\"" + place(left) + "\" y=\"" + place(y - 8) + "\">" + xml_text(plot.title) +
             "<tspan class=\"note\" dx=\"10\">" + xml_text(plot.note) + "</tspan></text>\n";
    const double height = plot.height * width / plot.width;
    body_ += "<svg x=\"" + place(left) + "\" y=\"" + place(y) + "\" width=\"" + place(width) + "\" height=\"" +
             place(height) + "\"" + plot.picture.substr(std::string("<svg").size());
    y += height;
    double x = left;
    if (!plot.legend.empty()) y += legend_row;
    for (const auto& entry : plot.legend) {
      const double room = swatch + letter * static_cast<double>(entry.name.size()) + 16;
      if (x > left && x + room > left + width) {
        x = left;
        y += legend_row;
      }
      body_ += "<rect class=\"key tone" + std::to_string(entry.tone) + "\" x=\"" + place(x) + "\" y=\"" + place(y - 7) +
               "\" width=\"14\" height=\"5\"/><text class=\"entry\" x=\"" + place(x + swatch) + "\" y=\"" + place(y) +
               "\">" + xml_text(entry.name) + "</text>\n";
      x += room;
    }
    return y;
  }

  std::string body_;
  double top_ = gap / 2, bottom_ = 0, width_ = 0;
  int in_row_ = 0;
};
}  // namespace

std::string html_of(const Plot& plot) {
  std::string items;
  for (const auto& entry : plot.legend)
    items +=
        "<li><span class=\"swatch tone" + std::to_string(entry.tone) + "\"></span>" + xml_text(entry.name) + "</li>";
  return "<figure><figcaption>" + xml_text(plot.title) +
         (plot.note.empty() ? "" : "<span class=\"note\">" + xml_text(plot.note) + "</span>") + "</figcaption>\n" +
         plot.picture + (items.empty() ? "" : "<ul class=\"legend\">" + items + "</ul>") + "</figure>\n";
}

std::string sheet_of(const std::vector<Plot>& plots) {
  Sheet sheet;
  for (const Plot& plot : plots) sheet.add(plot);
  return sheet.svg();
}

}  // namespace cortado
