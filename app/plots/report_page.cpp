#include "app/plots/report_page.h"

#include "app/plots/bars.h"
#include "app/plots/curves.h"
#include "app/plots/report_style.h"
#include "app/plots/svg.h"

namespace cortado {
namespace {
/// Entries of lines, but for faint ones, which belong to others.
std::string legend_of(const Chart& chart) {
  std::string items;
  std::size_t count = 0;
  for (const ChartLine& line : chart.lines) {
    if (line.look == ChartLine::Look::faint) continue;
    ++count;
    items += "<li><span class=\"swatch tone" + std::to_string(line.tone) + "\"></span>" + xml_text(line.name) + "</li>";
  }
  return count < 2 ? "" : "<ul class=\"legend\">" + items + "</ul>";
}

std::string curves_part(const std::vector<SavedRun>& runs) {
  std::string figures;
  for (const Chart& chart : curves_of(runs)) {
    const std::string picture = chart_svg(chart);
    if (picture.empty()) continue;
    std::string note = chart.note;
    if (chart.is_log) note += (note.empty() ? "" : "; ") + std::string("logarithmic");
    figures += figure_of(chart.title, note, picture, legend_of(chart));
  }
  return figures.empty()
             ? ""
             : "<section id=\"curves\"><h2>Curves</h2><div class=\"charts\">\n" + figures + "</div></section>\n";
}
}  // namespace

std::string figure_of(const std::string& title, const std::string& note, const std::string& picture,
                      const std::string& legend) {
  return "<figure><figcaption>" + xml_text(title) +
         (note.empty() ? "" : "<span class=\"note\">" + xml_text(note) + "</span>") + "</figcaption>\n" + picture +
         legend + "</figure>\n";
}

std::string report_page(const std::vector<SavedRun>& runs, const ReportExtras& extras) {
  std::string title;
  for (const SavedRun& run : runs) title += (title.empty() ? "" : ", ") + run.name;
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>" +
      xml_text(title) + " - Cortado</title><style>" + report_style() + "</style></head>\n<body>\n<h1>" +
      xml_text(title) + "</h1>\n";
  page += summary_part(runs) + curves_part(runs) + times_part(extras) + timelines_part(extras);
  for (const SavedRun& run : runs)
    if (const std::string net = net_part(run); !net.empty()) {
      page += net;
      break;
    }
  for (const SavedRun& run : runs) page += record_part(run);
  return page + "</body></html>\n";
}

}  // namespace cortado
