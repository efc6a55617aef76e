#include "app/plots/bars.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "app/plots/svg.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace cortado {
namespace {
using PlainJson = nlohmann::json;
constexpr double bars_width = 960, label_room = 270, value_room = 240, bar_height = 15, bar_step = 20;
constexpr std::size_t most_letters = 40;  // in that room
constexpr std::size_t most_bars = 54;     // which a printed page has room for

/// A bar of parts, one after the other.
struct Bar {
  struct Part {
    std::string kind;
    double value;
  };
  std::string label, text;  ///< before it, and behind
  std::vector<Part> parts;
};

double longest_of(const std::vector<Bar>& bars) {
  double most = 0;
  for (const Bar& bar : bars) {
    double sum = 0;
    for (const auto& part : bar.parts) sum += part.value;
    most = std::max(most, sum);
  }
  return most;
}

/// `tones_of` kinds of parts are colours, and entries of the legend. `most` is the length of the longest bar.
Plot plot_of(const std::string& title, const std::string& note, const std::vector<Bar>& bars, double most,
             const std::map<std::string, int>& tones_of, const std::string& unit) {
  Plot its{title, note, bars_width, bar_step * static_cast<double>(bars.size()) + 6, "", {}};
  const double scale = (bars_width - label_room - value_room) / std::max(most, 1e-300);
  std::string& text = its.picture;
  text = "<svg class=\"bars\" viewBox=\"0 0 " + place(its.width) + " " + place(its.height) + "\" role=\"img\"><title>" +
         xml_text(title) + "</title>\n";
  double y = 4;
  for (const Bar& bar : bars) {
    text += "<g data-parts=\"" + std::to_string(bar.parts.size()) + "\"><text class=\"tick end\" x=\"" +
            place(label_room - 8) + "\" y=\"" + place(y + 11) + "\">" +
            xml_text(without_middle(bar.label, most_letters)) + "</text>";
    double x = label_room;
    for (const auto& part : bar.parts) {
      text += "<rect class=\"key tone" + std::to_string(tones_of.at(part.kind) % 8) + "\" x=\"" + place(x) + "\" y=\"" +
              place(y) + "\" width=\"" + place(std::max(0.3, part.value * scale)) + "\" height=\"" + place(bar_height) +
              "\"><title>" + xml_text(bar.label + ", " + part.kind + ": " + figure(part.value) + unit) +
              "</title></rect>";
      x += part.value * scale;
    }
    text += "<text class=\"tick\" x=\"" + place(x + 8) + "\" y=\"" + place(y + 11) + "\">" + xml_text(bar.text) +
            "</text></g>\n";
    y += bar_step;
  }
  text += "</svg>\n";
  std::map<int, std::string> kinds;  // by tone
  for (const auto& [kind, tone] : tones_of) kinds[tone] = kind;
  for (const auto& [tone, kind] : kinds) its.legend.push_back({tone % 8, kind});
  return its;
}

/// As many plots as it takes, alike in scale.
std::vector<Plot> plots_of(const std::string& title, const std::string& note, const std::vector<Bar>& bars,
                           const std::map<std::string, int>& tones_of, const std::string& unit) {
  const double most = longest_of(bars);
  std::vector<Plot> plots;
  for (std::size_t begin = 0; begin == 0 || begin < bars.size(); begin += most_bars) {
    const auto first = bars.begin() + static_cast<long>(begin),
               end = bars.begin() + static_cast<long>(std::min(bars.size(), begin + most_bars));
    plots.push_back(plot_of(title, begin == 0 ? note : "continued", {first, end}, most, tones_of, unit));
  }
  return plots;
}

/// The rows of a file of `cortado time`: a bar for each layer, with a part for each direction.
std::vector<Plot> times_of(const std::string& name, const PlainJson& report) {
  const std::map<std::string, int> tones_of = {{"forward", 0}, {"backward", 1}};
  std::vector<Bar> bars;
  std::map<std::string, std::size_t> places;
  double all = 0;
  for (const auto& row : report.at("rows")) {
    const std::string direction = row.at("direction").get<std::string>(), layer = row.at("layer").get<std::string>();
    if (tones_of.count(direction) == 0 || layer == "whole iteration") continue;
    const double ms = row.at("ms").get<double>();
    const auto [found, is_new] = places.emplace(layer, bars.size());
    if (is_new) bars.push_back({layer + " (" + row.at("type").get<std::string>() + ")", "", {}});
    Bar& bar = bars[found->second];
    bar.parts.push_back({direction, ms});
    const auto share = row.find("limit_share");
    bar.text += (bar.text.empty() ? "" : ", ") + figure(ms) + " ms";
    if (share != row.end() && share->is_number())
      bar.text += " (" + std::to_string(std::lround(share->get<double>())) + " %)";
    all += ms;
  }
  return plots_of(name, "milliseconds, in brackets the share of the machine's limit; in all " + figure(all) + " ms",
                  bars, tones_of, " ms");
}

/// Two bars for each rank: its main lane, and what runs beside it.
std::vector<Plot> timeline_of(const std::string& name, const PlainJson& timeline) {
  const std::string beside = "overlapped ";
  const auto plain = [&](const std::string& kind) {
    return kind.compare(0, beside.size(), beside) == 0 ? kind.substr(beside.size()) : kind;
  };
  std::map<std::string, int> tones_of;
  for (const auto& rank : timeline.at("breakdown"))
    for (const auto& [kind, seconds] : rank.at("seconds").items()) tones_of.emplace(plain(kind), 0);
  int tone = 0;
  for (auto& [kind, its] : tones_of) its = tone++;
  std::vector<Bar> bars;
  for (const auto& rank : timeline.at("breakdown")) {
    const double total = std::max(1e-9, rank.at("total").get<double>());
    const std::string of = "rank " + std::to_string(std::lround(rank.at("rank").get<double>()));
    Bar own{of, figure(total) + " s", {}}, other{"beside it", "", {}};
    for (const auto& [kind, seconds] : rank.at("seconds").items()) {
      const double percent = 100 * std::max(0.0, seconds.get<double>()) / total;
      (plain(kind) == kind ? own : other).parts.push_back({plain(kind), percent});
      if (kind == "exchange") own.text += ", " + figure(percent) + " % exposed exchange";
    }
    bars.push_back(own);
    if (!other.parts.empty()) bars.push_back(other);
  }
  return plots_of(name, "% of the time of training, by what core group 0 does", bars, tones_of, " %");
}

template <class Draw>
std::vector<Plot> plots_of_files(const NamedJson& files, const char* kind, Draw draw) {
  std::vector<Plot> plots;
  for (const auto& [name, json] : files) try {
      for (Plot& plot : draw(name, json)) plots.push_back(std::move(plot));
    } catch (const PlainJson::exception&) {
      throw FileError(name, std::string("is not what ") + kind + " writes", "name a file that it has written");
    }
  return plots;
}
}  // namespace

NamedJson read_json_files(const std::vector<std::string>& files) {
  NamedJson all;
  for (const std::string& file : files) try {
      all.emplace_back(file, PlainJson::parse(read_file(file)));
    } catch (const PlainJson::exception& error) { throw FileError(file, std::string("is no JSON: ") + error.what()); }
  return all;
}

std::vector<Plot> times_plots(const NamedJson& files) { return plots_of_files(files, "cortado time --json", times_of); }

std::vector<Plot> timeline_plots(const NamedJson& files) {
  return plots_of_files(files, "cortado train --timeline", timeline_of);
}

}  // namespace cortado
