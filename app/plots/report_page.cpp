#include "app/plots/report_page.h"

#include "app/plots/report_style.h"
#include "app/plots/svg.h"

namespace cortado {
namespace {
/// Nothing without plots.
std::string part_of(const std::vector<Plot>& plots, const std::string& id, const std::string& title,
                    const std::string& look) {
  if (plots.empty()) return "";
  std::string text = "<section id=\"" + id + "\"><h2>" + title + "</h2><div" + look + ">\n";
  for (const Plot& plot : plots) text += html_of(plot);
  return text + "</div></section>\n";
}
}  // namespace

std::string report_page(const std::vector<SavedRun>& runs, const ReportPlots& plots) {
  std::string title;
  for (const SavedRun& run : runs) title += (title.empty() ? "" : ", ") + run.name;
  std::string last;  // of several plots of one file
  for (const auto& its : {plots.times, plots.ranks})
    for (const Plot& plot : its) {
      if (runs.empty() && plot.title != last) title += (title.empty() ? "" : ", ") + plot.title;
      last = plot.title;
    }
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>" +
      xml_text(title) + " - Cortado</title><style>" + report_style() + "</style></head>\n<body>\n<h1>" +
      xml_text(title) + "</h1>\n";
  if (!runs.empty()) page += summary_part(runs);
  page += part_of(plots.curves, "curves", "Curves", " class=\"charts\"") +
          part_of(plots.times, "times", "Time by layer", "") + part_of(plots.ranks, "ranks", "Time by rank", "");
  for (const SavedRun& run : runs)
    if (const std::string net = net_part(run); !net.empty()) {
      page += net;
      break;
    }
  for (const SavedRun& run : runs) page += record_part(run);
  return page + "</body></html>\n";
}

}  // namespace cortado
