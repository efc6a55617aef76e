#include "backends/sunway/sim/profile.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/file.h"

namespace cortado::sunway::sim {
namespace {

constexpr const char* kind_names[spent_kinds] = {"compute", "transfer", "message", "idle"};

double seconds(const LaunchProfile& launch, const Costs& costs) { return (launch.end - launch.start) / costs.hz; }

double share(const LaunchProfile& launch, std::size_t kind) {
  return launch.cycles[kind] / std::max(1.0, (launch.end - launch.start) * port_cpes);
}

}  // namespace

std::string Profile::table(const Costs& costs, double peak_flops) const {
  struct Kernel {
    LaunchProfile sum;
    double seconds = 0;
    i64 launches = 0;
  };
  std::map<std::string, Kernel> kernels;
  for (const LaunchProfile& launch : launches_) {
    Kernel& kernel = kernels[launch.label];
    kernel.seconds += seconds(launch, costs);
    ++kernel.launches;
    kernel.sum.end += launch.end - launch.start;
    for (std::size_t kind = 0; kind < spent_kinds; ++kind) kernel.sum.cycles[kind] += launch.cycles[kind];
    kernel.sum.bytes += launch.bytes;
    kernel.sum.flops += launch.flops;
  }
  std::vector<std::pair<std::string, Kernel>> rows(kernels.begin(), kernels.end());
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  char line[200];
  std::snprintf(line, sizeof line, "%-26s %8s %11s %8s %8s %8s %8s %8s %8s %6s\n", "kernel", "launches", "ms",
                "compute", "transfer", "message", "idle", "GB/s", "Gflop/s", "peak");
  std::string text = line;
  for (const auto& [name, kernel] : rows) {
    const auto percent = [&](Spent kind) { return 100 * share(kernel.sum, static_cast<std::size_t>(kind)); };
    std::snprintf(line, sizeof line, "%-26s %8ld %11.3f %7.1f%% %7.1f%% %7.1f%% %7.1f%% %8.2f %8.1f %5.1f%%\n",
                  name.c_str(), static_cast<long>(kernel.launches), kernel.seconds * 1e3, percent(Spent::compute),
                  percent(Spent::transfer), percent(Spent::message), percent(Spent::idle),
                  kernel.sum.bytes / kernel.seconds / 1e9, kernel.sum.flops / kernel.seconds / 1e9,
                  100 * kernel.sum.flops / kernel.seconds / peak_flops);
    text += line;
  }
  return text;
}

void write_timeline(const std::string& file, const std::vector<const Profile*>& groups, const Costs& costs) {
  auto events = nlohmann::json::array();
  for (std::size_t group = 0; group < groups.size(); ++group) {
    events.push_back({{"ph", "M"},
                      {"name", "process_name"},
                      {"pid", group},
                      {"args", {{"name", "core group " + std::to_string(group)}}}});
    for (const LaunchProfile& launch : groups[group]->launches()) {
      nlohmann::json details = {{"bytes", launch.bytes}, {"flops", launch.flops}, {"transfers", launch.transfers}};
      for (std::size_t kind = 0; kind < spent_kinds; ++kind) details[kind_names[kind]] = share(launch, kind);
      events.push_back({{"ph", "X"},
                        {"name", launch.label},
                        {"pid", group},
                        {"tid", 0},
                        {"ts", launch.start / costs.hz * 1e6},
                        {"dur", seconds(launch, costs) * 1e6},
                        {"args", std::move(details)}});
    }
  }
  write_text(file, nlohmann::json({{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}).dump() + "\n");
}

}  // namespace cortado::sunway::sim
