#include "core/machine/estimate.h"

#include <algorithm>
#include <cmath>

#include "core/machine/integers.h"

namespace cortado {
bool is_modelled(const MachineSpec& spec) { return spec.lines_in_scratch && spec.clock_hz > 0; }

double transfer_seconds(const MachineSpec& spec, double count, double bytes) {
  const auto& table = spec.transfers;
  if (table.empty()) return count * bytes / spec.bandwidth;
  const auto seconds = [&](std::size_t i) {
    return static_cast<double>(table[i].block_bytes) / table[i].bytes_per_second;
  };
  // Between the table's sizes the time of a block follows its neighbours; shorter blocks take as long as the shortest.
  const auto above = std::find_if(table.begin(), table.end(),
                                  [&](const auto& entry) { return static_cast<double>(entry.block_bytes) >= bytes; });
  const auto i = static_cast<std::size_t>(above - table.begin());
  if (i == 0) return count * seconds(0);
  if (above == table.end()) {
    const auto last = table.size() - 1;
    return count * (seconds(last) + (bytes - static_cast<double>(table[last].block_bytes)) / spec.bandwidth);
  }
  const double low = static_cast<double>(table[i - 1].block_bytes), high = static_cast<double>(table[i].block_bytes);
  return count * (seconds(i - 1) + (seconds(i) - seconds(i - 1)) * (bytes - low) / (high - low));
}

double put_seconds(const MachineSpec& spec, double count, double bytes) {
  const bool partial = std::fmod(bytes, static_cast<double>(spec.request_bytes)) != 0;
  return transfer_seconds(spec, count, bytes) + (partial ? count * spec.partial_put_seconds : 0);
}

double multiply_seconds(const MachineSpec& spec, const TileShape& s, double taps) {
  const auto& unit = spec.multiply;
  const i64 vectors = s.n2 * s.n1 * ceil_div(s.n0, unit.lanes);
  const double terms = static_cast<double>(s.k) * taps;
  const auto block = [&](i64 rows, i64 wide) {
    const auto sums = static_cast<double>(rows * wide);
    return terms * std::max({sums, static_cast<double>(rows + wide), unit.latency}) + 2 * sums + unit.start;
  };
  const i64 rows = s.m / unit.rows, rows_left = s.m % unit.rows, wide = vectors / unit.vectors,
            wide_left = vectors % unit.vectors;
  double cycles = static_cast<double>(rows * wide) * block(unit.rows, unit.vectors);
  if (rows_left > 0) cycles += static_cast<double>(wide) * block(rows_left, unit.vectors);
  if (wide_left > 0) cycles += static_cast<double>(rows) * block(unit.rows, wide_left);
  if (rows_left > 0 && wide_left > 0) cycles += block(rows_left, wide_left);
  return cycles / spec.clock_hz;
}

double shared_multiply_seconds(const MachineSpec& spec, const TileShape& shape, double taps, double bytes) {
  const auto& unit = spec.multiply;
  const double multiply = multiply_seconds(spec, shape, taps), steps = spec.mesh_cols;
  if (unit.receive_slots == 0) return steps * multiply;
  const double share = bytes / unit.share_bytes / spec.clock_hz, start = unit.share_start / spec.clock_hz;
  return share + steps * (start + std::max(multiply, share));
}

double widen_seconds(const MachineSpec& spec, double elements, i64 element_bytes) {
  const bool widened = spec.multiply.widens_single && element_bytes == 4;
  return widened ? (2 * elements / spec.multiply.lanes + spec.multiply.start) / spec.clock_hz : 0;
}

std::vector<i64> tile_sizes(i64 extent, i64 parts, i64 unit, i64 most) {
  std::vector<i64> sizes;
  const i64 whole = ceil_div(std::max<i64>(extent, 1), parts);
  for (i64 cuts = 1; cuts <= whole; ++cuts) {
    const i64 size = ceil_div(ceil_div(whole, cuts), unit) * unit;
    if (size <= most && (sizes.empty() || size < sizes.back())) sizes.push_back(size);
    if (size <= unit) break;
  }
  if (sizes.empty()) sizes.push_back(unit);
  return sizes;
}

}  // namespace cortado
