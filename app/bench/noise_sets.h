#pragma once
#include <string>
#include <vector>

#include "core/base/file.h"

namespace cortado {

/// A data set of images of noise in files without names, which go with it, however the process ends.
struct NoiseFiles {
  std::vector<Descriptor> values;  ///< the only file, or stripes
  Descriptor master;               ///< of stripes
  std::string path;                ///< the path by which this process opens the set
  double open_s = 0, write_s = 0;  ///< seconds of its writing
};

constexpr i64 noise_sample_bytes = 3 * 256 * 256 + 4;  ///< with its label

/// Writes an HDF5 file in the first folder, or a set striped over all of them. Throws FileError.
NoiseFiles write_noise(i64 samples, const std::vector<std::string>& folders, bool striped);

/// The number of samples that are written in `seconds`, by a short try. Throws FileError.
i64 noise_written_in(double seconds, const std::string& folder);

}  // namespace cortado
