#pragma once
#include <vector>

#include "core/base/types.h"

namespace cortado {

/// A shared file system in swCaffe section V-B's model. It has disk arrays of limited bandwidth, each shared equally by
/// its present readers, and readers of limited bandwidth. A data set lies on one array ("single-split"), or in blocks
/// round robin on many.
struct DiskArrays {
  int arrays = 1;                         ///< over which the data set is striped
  double array_bytes_per_s = 1e9;         ///< of one array
  double reader_bytes_per_s = 1e9;        ///< that one reader can take
  double stripe_bytes = 256 * 1048576.0;  ///< that lie together on an array
  double set_bytes = 150e9;
  double batch_bytes = 192 * 1048576.0;  ///< each read is so many bytes in a row, anywhere in the set
};

/// The readers' performance when all read `batches` batches one after another.
struct ArraysResult {
  double bytes_per_s = 0;    ///< all readers' bytes by the time that the last one needs
  double batch_seconds = 0;  ///< mean time of a batch
  int most_arrays = 0;       ///< that one batch touched
  double mean_readers = 0;   ///< of an array, at the times when it was read at all
  int most_readers = 0;      ///< of an array at any time
};
ArraysResult simulate(const DiskArrays& system, int readers, int batches, std::uint64_t seed);

}  // namespace cortado
