#pragma once
#include <algorithm>

#include "core/base/types.h"

namespace cortado {

/// The division of a striped data set (swCaffe section V-B): blocks of `block` neighbours go round robin to `stripes`
/// files. Version 1 of the format:
///
/// Each stripe is an HDF5 file of contiguous arrays, aligned to `alignment` bytes. An array is a whole number of blocks
/// one after another; the very last block may be short. The arrays are `data` and `label`, and for FIELD of these
/// - FIELD_crc: zlib's CRC-32 of each sample's bytes;
/// - FIELD_place, of encoded fields only: each sample's begin in FIELD, and its bytes. FIELD is then a row of bytes;
/// - `block_done`: 1 for the blocks that are written, and `block_sum`: the sums of their values by channel.
///
/// The master presents data, label and their checksums as virtual data sets over all stripes. It is written last, so a
/// master says that the set is whole. striped_attribute lists the attributes of all these files.
struct StripedLayout {
  i64 samples = 0, block = 1, stripes = 1;

  i64 blocks() const { return (samples + block - 1) / block; }
  i64 stripe_of(i64 b) const { return b % stripes; }
  /// The first sample of a block, in the set and in its stripe, and the block's number of samples.
  i64 first_of(i64 b) const { return b * block; }
  i64 place_of(i64 b) const { return b / stripes * block; }
  i64 size_of(i64 b) const { return std::min(block, samples - first_of(b)); }
  i64 blocks_in(i64 stripe) const { return (blocks() - stripe + stripes - 1) / stripes; }
  i64 samples_in(i64 stripe) const {
    const i64 n = blocks_in(stripe);
    return n == 0 ? 0 : (n - 1) * block + size_of(stripe + (n - 1) * stripes);
  }
};

namespace striped_attribute {
constexpr const char* version = "cortado_striped";  ///< of the format, 1
constexpr const char* id = "id";                    ///< of the set: the same in master and stripes
constexpr const char* samples = "samples";          ///< of the whole set
constexpr const char* block = "block";              ///< samples of a block
constexpr const char* stripe = "stripe";            ///< number of this file, in stripes only
constexpr const char* stripes = "stripes";          ///< the files' names, relative to the master's folder; master only
constexpr const char* layout = "layout";            ///< "channels height width", for people
constexpr const char* classes = "classes";          ///< names, where known
constexpr const char* mean = "mean";                ///< of each channel, of data that are not encoded; master only
constexpr const char* from = "from";                ///< the source and the preparation of the conversion
constexpr const char* sample_shape = "sample_shape";  ///< of encoded fields: on FIELD_place, the first image's
}  // namespace striped_attribute

}  // namespace cortado
