#include <numeric>

#include "parallel_io/sets/hdf5_set.h"

namespace cortado {

/// Arrays as small as labels are.
void Hdf5Set::add_known(Digest& digest) const {
  constexpr i64 small = i64{16} << 20;
  if (has_shapes_ || samples_ * static_cast<i64>(sizeof(Wanted)) > 8 * small) return;
  std::vector<i64> all(static_cast<std::size_t>(samples_));
  std::iota(all.begin(), all.end(), i64{0});
  const std::vector<Wanted> wanted = places_of(all.data(), samples_);
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if (fields_[f].stored == Stored::encoded || samples_ * fields_[f].sample_bytes() > small) continue;
    Bytes bytes(static_cast<std::size_t>(samples_ * fields_[f].sample_bytes()));
    read_fixed(f, wanted, bytes.data());
    digest.add(fields_[f].name);
    digest.add(bytes.data(), bytes.size());
  }
}

}  // namespace cortado
