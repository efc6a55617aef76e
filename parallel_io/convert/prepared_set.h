#pragma once
#include <mutex>

#include "parallel_io/feed/worker_pool.h"
#include "parallel_io/sets/data_set.h"
#include "parallel_io/sets/image.h"

namespace cortado {

/// What a conversion does to samples on their way.
struct Preparation {
  bool decode = true;      ///< encoded images become bytes of one shape; otherwise they stay, or become PNG
  ImageSize size;          ///< of images; without, all that are decoded must have the first one's size
  bool shuffle = false;    ///< visit the samples in a random order
  std::uint64_t seed = 1;  ///< of that order
  bool rgb = false;        ///< three channels as red, green, blue instead of blue, green, red
  bool to_float = false;   ///< store (value - mean) * scale
  float scale = 1;
  std::vector<float> mean;  ///< of one sample; empty: none
};

/// A data set as a preparation makes it. Uses all CPUs.
class PreparedSet : public DataSet {
 public:
  /// Throws ConfigError for a preparation that the set's values do not allow.
  PreparedSet(std::unique_ptr<DataSet> from, const Preparation& preparation);

  void read(const i64* indices, i64 count, std::vector<Values>& to) const override;
  std::string where(i64 sample) const override { return from_->where(source_of(sample)); }

 private:
  i64 source_of(i64 sample) const;
  void prepare(const std::uint8_t* from, i64 bytes, i64 sample, std::uint8_t* to) const;
  /// Encoded images, resized and encoded again.
  Values encode_again(const Values& values, const i64* indices, i64 count) const;

  std::unique_ptr<DataSet> from_;
  const Preparation preparation_;
  mutable std::mutex mutex_;
  mutable WorkerPool workers_;
};

}  // namespace cortado
