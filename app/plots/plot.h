#pragma once
#include <string>
#include <vector>

namespace cortado {

/// A picture with its words.
struct Plot {
  std::string title, note;  ///< `note` in small type behind the title
  double width = 0, height = 0;
  std::string picture;  ///< an SVG element with a viewBox of that size
  struct Entry {
    int tone;  ///< the colour, of eight
    std::string name;
  };
  std::vector<Entry> legend;  ///< may be empty
};

/// The plot as an element of a page with the style of report_style.
std::string html_of(const Plot& plot);

/// One SVG picture of all plots, in columns, complete in itself and light. Viewers without variables in style sheets
/// show it too.
std::string sheet_of(const std::vector<Plot>& plots);

}  // namespace cortado
