#pragma once
#include <functional>

#include "core/data/batch_source.h"
#include "parallel_io/sets/data_set.h"

namespace cortado {

/// Makes a sample's floats of its stored values: decodes and resizes images, and does what Caffe's transform_param
/// says: (value - mean) * scale, crops (anywhere in training, the middle in testing), mirrors. What is random depends
/// on the request's seed and the sample's position in the run alone. Any number of threads may use one.
class Transformer {
 public:
  /// Throws ConfigError for parameters that do not fit the field, FileError for a bad mean file. `request` must have a
  /// transform or none: fields that are no images take none.
  Transformer(const DataSet::Field& field, const BatchRequest& request, bool is_image);
  const Shape& sample_shape() const { return shape_; }

  /// Throws FileError for `where()` when an image cannot be decoded or has another size.
  void operator()(const std::uint8_t* bytes, i64 count, i64 position, const std::function<std::string()>& where,
                  float* to) const;

 private:
  struct Place {
    i64 row, column;
    bool mirrored;
  };
  Place place_of(i64 height, i64 width, i64 position) const;
  /// One sample whose channel c is plane (c * step + start) of `values`.
  template <class T>
  void transform(const T* values, bool backwards, i64 height, i64 width, i64 position, float* to) const;
  void read_mean(const BatchRequest& request);

  DataSet::Field field_;
  Shape shape_;  // of what comes out
  i64 channels_ = 1, height_ = 1, width_ = 1, crop_ = 0;
  i64 resized_height_ = 0, resized_width_ = 0;
  bool is_image_, mirror_ = false, training_;
  float scale_ = 1;
  std::vector<float> channel_mean_;  // none: nothing to subtract
  std::vector<float> mean_;          // channels x height x width before the crop; none: channel_mean_ counts
  std::uint64_t key_;
};

}  // namespace cortado
