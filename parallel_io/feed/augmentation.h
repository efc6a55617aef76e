#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "core/base/types.h"
#include "parallel_io/sets/image.h"

namespace caffe {
class TransformationParameter;
class TransformationParameter_ColorJitter;
class TransformationParameter_ResizedCrop;
}  // namespace caffe

namespace cortado {

// Random parts and colours of training images, as torchvision defines them. A draw depends on `key` alone, and every
// sample of a run has its own key.

/// Throws ConfigError for `where` if random_resized_crop, color_jitter or pad have no meaning for images of so many
/// channels, or without the crop_size that they need.
void check_augmentation(const caffe::TransformationParameter& transform, i64 channels, const std::string& where);

/// Draws the part of torchvision's RandomResizedCrop.get_params: its share of the area is uniform, its ratio of width
/// to height uniform in the logarithm. After ten parts that do not fit it is the largest one in the middle whose ratio
/// is in range.
ImagePart draw_part(const caffe::TransformationParameter_ResizedCrop& ranges, int height, int width, std::uint64_t key);

/// The changes of ColorJitter to one image.
struct ColorChanges {
  enum Kind { brightness, contrast, saturation, hue };
  std::array<Kind, 4> order = {brightness, contrast, saturation, hue};
  std::array<float, 4> by = {1, 1, 1, 0};  ///< by kind: three factors, and a part of the circle
};
ColorChanges draw_colors(const caffe::TransformationParameter_ColorJitter& ranges, std::uint64_t key);

/// Changes an image of planes of `pixels` values from 0 to 255, blue, green, red or grey, in place. It does what
/// torchvision's functional adjust_* do to floats: after each change, values beyond the range are set to its end. A
/// grey image has neither saturation nor hue.
void change_colors(const ColorChanges& changes, i64 channels, i64 pixels, float* planes);

}  // namespace cortado
