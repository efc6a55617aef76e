#pragma once
#include <functional>
#include <optional>

#include "core/data/batch_source.h"
#include "core/formats/caffe.pb.h"
#include "parallel_io/sets/data_set.h"
#include "parallel_io/sets/image.h"

namespace cortado {

/// A sample in stored form.
struct StoredSample {
  const std::uint8_t* bytes;
  i64 count;                     ///< of its bytes
  i64 position;                  ///< in the run
  const Shape* shape = nullptr;  ///< the shape of numbers that have their own; nullptr means the field's
};

/// Returns room for a sample's floats of that shape, or throws if it cannot.
using Room = std::function<float*(const Shape& shape)>;

/// Makes a sample's floats of its stored values. Any number of threads may use one.
class SampleMaker {
 public:
  virtual ~SampleMaker() = default;
  /// The shape of its first sample. Others may have another one if they are stored so.
  const Shape& sample_shape() const { return shape_; }
  /// Makes one sample. Throws FileError for `where()`.
  virtual void operator()(const StoredSample& sample, const std::function<std::string()>& where,
                          const Room& room) const = 0;

 protected:
  Shape shape_;
};

/// The mean that a transform_param subtracts: `image`, of that shape as its file has it, or a value per channel, or
/// nothing.
struct Mean {
  Shape shape;
  std::vector<float> image;
  std::vector<float> channel;
};
/// Reads a request's mean. Throws ConfigError for one that does not fit `channels`, FileError for a bad mean file.
Mean read_mean(const BatchRequest& request, i64 channels);

/// The maker of all fields but windows. It decodes and resizes images, and applies transform_param: (value - mean) *
/// scale, crops (anywhere in training, the middle in testing) of images that a pad may surround, mirrors, and in
/// training random parts and colours (augmentation.h), before the mean. Random choices depend on the request's seed and
/// the sample's position in the run alone.
class Transformer : public SampleMaker {
 public:
  /// Throws ConfigError for parameters that do not fit the field, FileError for a bad mean file. Fields that are no
  /// images take no transform; their `request` must have none.
  Transformer(const DataSet::Field& field, const BatchRequest& request, bool is_image);

  /// Throws FileError also when an image is smaller than the crop, or is not of the mean image's size.
  void operator()(const StoredSample& sample, const std::function<std::string()>& where,
                  const Room& room) const override;

 private:
  struct Place {
    i64 row, column;
    bool mirrored;
  };
  void set_labels(const BatchRequest& request);
  Place place_of(i64 height, i64 width, i64 position) const;
  /// The crop at `place` of an image that `pad_` pixels surround, in the stored order of channels.
  template <class T>
  std::vector<T> padded(const T* values, i64 height, i64 width, const Place& place) const;
  float* room_for(const Shape& image, const std::function<std::string()>& where, const Room& room) const;
  /// Transforms one sample whose channel c is plane (c * step + start) of `values`.
  template <class T>
  void transform(const T* values, bool backwards, i64 height, i64 width, i64 position, float* to) const;
  /// The same of bytes, of which a random part may be resized first.
  void make(const std::uint8_t* values, bool backwards, i64 height, i64 width, i64 position, float* to) const;
  /// Changes the colours of a cropped image in the net's order of channels.
  void jitter(i64 position, i64 pixels, float* image) const;

  DataSet::Field field_;
  i64 channels_ = 1, height_ = 1, width_ = 1, crop_ = 0, pad_ = 0;
  ImageSize size_;
  bool is_image_, mirror_ = false, training_;
  float scale_ = 1;
  Mean mean_;  // the images' mean before the crop
  std::uint64_t key_, parts_key_, colors_key_;
  std::optional<caffe::TransformationParameter_ResizedCrop> parts_;   // in training, if wanted
  std::optional<caffe::TransformationParameter_ColorJitter> colors_;  // likewise; of images alone
};

}  // namespace cortado
