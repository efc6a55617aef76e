#include "app/bench/disk_arrays.h"

#include <algorithm>
#include <limits>

#include "core/base/random.h"

namespace cortado {
namespace {

/// A reader works through pieces, each on one array.
struct Piece {
  int array;
  double left;  // bytes
};
struct Reader {
  std::vector<Piece> pieces;  // of the batch at hand, last one first
  int batches_left;
  std::uint64_t drawn = 0;
};

/// The pieces of a batch that begins at `offset`, last one first.
std::vector<Piece> pieces_of(const DiskArrays& system, double offset) {
  std::vector<Piece> pieces;
  for (double at = offset, end = offset + system.batch_bytes; at < end;) {
    const auto block = static_cast<i64>(at / system.stripe_bytes);
    const double next = std::min(end, static_cast<double>(block + 1) * system.stripe_bytes);
    pieces.push_back({static_cast<int>(block % system.arrays), next - at});
    at = next;
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

}  // namespace

ArraysResult simulate(const DiskArrays& system, int readers, int batches, std::uint64_t seed) {
  std::vector<Reader> all(static_cast<std::size_t>(readers), Reader{{}, batches});
  std::vector<int> load(static_cast<std::size_t>(system.arrays), 0);
  ArraysResult result;
  double now = 0, load_seconds = 0, busy_seconds = 0;
  const auto begin_batch = [&](std::size_t r) {
    const float place = random_uniform(random_bits(seed, r), all[r].drawn++);
    all[r].pieces = pieces_of(system, place * (system.set_bytes - system.batch_bytes));
    --all[r].batches_left;
    std::vector<int> touched;
    for (const Piece& piece : all[r].pieces) touched.push_back(piece.array);
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    result.most_arrays = std::max(result.most_arrays, static_cast<int>(touched.size()));
  };
  for (std::size_t r = 0; r < all.size(); ++r) begin_batch(r);
  while (true) {
    std::fill(load.begin(), load.end(), 0);
    for (const Reader& reader : all)
      if (!reader.pieces.empty()) ++load[static_cast<std::size_t>(reader.pieces.back().array)];
    const auto rate = [&](const Reader& reader) {
      const int sharers = load[static_cast<std::size_t>(reader.pieces.back().array)];
      return std::min(system.reader_bytes_per_s, system.array_bytes_per_s / sharers);
    };
    double step = std::numeric_limits<double>::infinity();  // to the first piece that ends
    for (const Reader& reader : all)
      if (!reader.pieces.empty()) step = std::min(step, reader.pieces.back().left / rate(reader));
    if (step == std::numeric_limits<double>::infinity()) break;
    for (const int sharers : load) {
      result.most_readers = std::max(result.most_readers, sharers);
      load_seconds += sharers * step;
      busy_seconds += sharers > 0 ? step : 0;
    }
    now += step;
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (all[r].pieces.empty()) continue;
      Piece& piece = all[r].pieces.back();
      piece.left -= rate(all[r]) * step;
      if (piece.left > 1e-3) continue;
      all[r].pieces.pop_back();
      if (all[r].pieces.empty() && all[r].batches_left > 0) begin_batch(r);
    }
  }
  result.bytes_per_s = system.batch_bytes * readers * batches / now;
  result.batch_seconds = now / batches;
  result.mean_readers = load_seconds / busy_seconds;
  return result;
}

}  // namespace cortado
