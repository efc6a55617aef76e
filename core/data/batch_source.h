#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/tensor/blob.h"

namespace cortado {

/// Labelled samples on storage, in a fixed order, each field of one shape: what data layers read. parallel_io
/// implements it. Single-threaded.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// Names of the fields ("data", "label"), and one sample's shape of each.
  struct Field {
    std::string name;
    Shape sample_shape;
  };
  virtual const std::vector<Field>& fields() const = 0;
  virtual i64 samples() const = 0;
  /// Copies samples[indices[0..count)] of every field to `to[field]` (host memory, count x sample floats each).
  /// Throws FileError.
  virtual void read(const i64* indices, i64 count, const std::vector<float*>& to) = 0;
};

/// Opens sources by kind; app wires the readers of parallel_io into it, so that core and layers need not know them.
class SourceOpener {
 public:
  virtual ~SourceOpener() = default;
  /// `list_file` names HDF5 files, one per line (Caffe's HDF5Data source); `fields` are the data sets wanted, one
  /// per top. Throws FileError.
  virtual std::unique_ptr<BatchSource> open_hdf5_list(const std::string& list_file,
                                                      const std::vector<std::string>& fields) const = 0;
};

/// The order in which a run visits samples: position p = 0, 1, 2, ... over all epochs and all ranks. A function of
/// (seed, position) alone, so any number of ranks reads the same global batches and a resumed run goes on where
/// the first stopped. Sequential, or a fresh permutation each epoch.
class SampleOrder {
 public:
  SampleOrder(i64 samples, bool shuffle, std::uint64_t seed) : samples_(samples), shuffle_(shuffle), seed_(seed) {}
  i64 operator()(i64 position);

 private:
  i64 samples_;
  bool shuffle_;
  std::uint64_t seed_;
  i64 epoch_ = -1;
  std::vector<i64> permutation_;  // of epoch_
};

}  // namespace cortado
