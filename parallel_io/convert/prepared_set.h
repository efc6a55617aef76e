#pragma once
#include <mutex>
#include <string>

#include "parallel_io/feed/worker_pool.h"
#include "parallel_io/sets/data_set.h"
#include "parallel_io/sets/image.h"

namespace cortado {

/// The changes that a conversion makes to samples.
struct Preparation {
  bool decode = true;  ///< encoded images become bytes of one shape; otherwise they stay encoded, or become PNG
  ImageSize size;      ///< the images' size; without it, all decoded images must have the first one's
  std::string other_size_advice = "give --resize WIDTHxHEIGHT, or --crop";  ///< to the user whose images have others
  bool shuffle = false;                                                     ///< the samples come in a random order
  std::uint64_t seed = 1;                                                   ///< of that order
  bool rgb = false;       ///< three channels as red, green, blue instead of blue, green, red
  bool to_float = false;  ///< store (value - mean) * scale
  float scale = 1;
  std::vector<float> mean;  ///< of one sample; empty means no mean
};

/// A data set with a preparation applied. It uses all CPUs.
class PreparedSet : public DataSet {
 public:
  /// Throws ConfigError for a preparation that does not apply to the set's values.
  PreparedSet(std::unique_ptr<DataSet> from, const Preparation& preparation);

  void read(const i64* indices, i64 count, std::vector<Values>& to) const override;
  std::string where(i64 sample) const override { return from_->where(source_of(sample)); }

 private:
  i64 source_of(i64 sample) const;
  void prepare(const std::uint8_t* from, i64 bytes, i64 sample, std::uint8_t* to) const;
  /// Decodes images, resizes them and encodes them again.
  Values encode_again(const Values& values, const i64* indices, i64 count) const;

  std::unique_ptr<DataSet> from_;
  const Preparation preparation_;
  mutable std::mutex mutex_;
  mutable WorkerPool workers_;
};

}  // namespace cortado
