#include "backends/sunway/sim/costs.h"

#include <algorithm>

namespace cortado::sunway::sim {

double block_seconds(const Costs& costs, double bytes) {
  const auto& table = costs.transfers;
  const auto seconds = [&](std::size_t i) {
    return static_cast<double>(table[i].block_bytes) / table[i].bytes_per_second;
  };
  const auto above = std::find_if(table.begin(), table.end(),
                                  [&](const auto& entry) { return static_cast<double>(entry.block_bytes) >= bytes; });
  const auto i = static_cast<std::size_t>(above - table.begin());
  if (i == 0) return seconds(0);  // shorter blocks take as long as the shortest
  if (above == table.end()) {
    const auto last = table.size() - 1;
    return seconds(last) + (bytes - static_cast<double>(table[last].block_bytes)) / costs.bandwidth;
  }
  const double low = static_cast<double>(table[i - 1].block_bytes), high = static_cast<double>(table[i].block_bytes);
  return seconds(i - 1) + (seconds(i) - seconds(i - 1)) * (bytes - low) / (high - low);
}

}  // namespace cortado::sunway::sim
