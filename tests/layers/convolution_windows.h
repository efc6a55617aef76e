#pragma once
#include <optional>

#include "core/base/error.h"
#include "core/base/layout.h"
#include "layers/convolution/convolution.h"
#include "tests/support/layer_rig.h"

namespace cortado::test {

/// A convolution that blocks of channels, or planes, are tried with.
struct Window {
  const char* name;
  Shape bottom;
  i64 outputs;
  const char* parameter;
};

inline const std::vector<Window>& windows() {
  static const std::vector<Window> all = {
      {"one_by_one", {2, 32, 9, 7}, 48, "kernel_size: 1"},
      {"one_by_one_stride2", {3, 16, 9, 8}, 64, "kernel_size: 1 stride: 2"},
      {"one_by_one_padded", {2, 16, 5, 5}, 16, "kernel_size: 1 pad: 1"},
      {"three_by_three", {2, 48, 14, 15}, 32, "kernel_size: 3 pad: 1"},
      {"seven_pixels", {5, 64, 7, 7}, 96, "kernel_size: 3 pad: 1"},
      {"stride2", {2, 32, 15, 14}, 16, "kernel_size: 3 stride: 2 pad: 1"},
      {"five_by_five", {1, 16, 12, 67}, 32, "kernel_size: 5 pad: 2"},
      {"eleven_stride4", {1, 16, 27, 31}, 16, "kernel_size: 11 stride: 4"},
      {"stride_beyond_the_kernel", {2, 16, 11, 13}, 32, "kernel_size: 2 stride: 4"},
      {"rectangle", {1, 32, 9, 12}, 16, "kernel_h: 3 kernel_w: 5 stride_h: 2 stride_w: 1 pad_h: 0 pad_w: 2"},
      {"groups", {2, 64, 8, 9}, 32, "kernel_size: 3 pad: 1 group: 2"},
      {"depthwise", {2, 48, 9, 11}, 48, "kernel_size: 3 pad: 1 group: 48"},
      {"depthwise_five_stride2", {3, 32, 9, 8}, 32, "kernel_size: 5 stride: 2 pad: 2 group: 32"},
      {"depthwise_beyond_two_strides", {1, 16, 13, 15}, 16, "kernel_size: 3 stride: 3 pad: 1 group: 16"},
      {"depthwise_row", {2, 16, 3, 21}, 16, "kernel_h: 1 kernel_w: 5 pad_h: 0 pad_w: 2 group: 16"},
      {"depthwise_dilated", {2, 16, 12, 9}, 16, "kernel_size: 3 dilation: 2 pad: 2 group: 16"},
      {"depthwise_times_two", {2, 16, 9, 8}, 32, "kernel_size: 3 pad: 1 group: 16"},
      {"groups_of_two", {2, 32, 9, 11}, 32, "kernel_size: 3 pad: 1 group: 16"},
      {"groups_of_three", {2, 48, 7, 9}, 48, "kernel_size: 3 pad: 1 group: 16"},
      {"groups_of_four", {1, 48, 13, 10}, 48, "kernel_size: 3 pad: 1 group: 12"},
      {"groups_of_four_stride2", {3, 32, 9, 8}, 32, "kernel_size: 3 stride: 2 pad: 1 group: 8"},
      {"groups_of_six_that_grow", {1, 48, 8, 8}, 96, "kernel_size: 3 stride: 2 pad: 1 group: 8"},
      {"groups_of_eight_five_by_five", {1, 16, 9, 14}, 16, "kernel_size: 5 pad: 2 group: 2"},
      {"groups_of_eight_row", {2, 32, 5, 19}, 32, "kernel_h: 1 kernel_w: 7 pad_h: 0 pad_w: 3 group: 4"},
      {"groups_of_twenty_four_dilated", {2, 48, 7, 8}, 48, "kernel_size: 3 dilation: 2 pad: 2 group: 2"},
      {"dilated", {2, 32, 12, 11}, 48, "kernel_size: 3 dilation: 3 pad: 3"},
      {"dilated_stride2", {1, 16, 13, 12}, 32, "kernel_size: 3 dilation: 2 stride: 2 pad: 2"},
      {"winograd_edges", {2, 32, 15, 69}, 16, "kernel_size: 3 pad_h: 0 pad_w: 2"},
      {"one_image_row", {1, 16, 1, 40}, 16, "kernel_h: 1 kernel_w: 3"},
      {"more_channels_than_a_slice", {2, 528, 4, 5}, 272, "kernel_size: 1"},
      {"quadrants", {5, 64, 7, 7}, 128, "kernel_size: 1"},
      {"quadrants_of_one_image", {1, 128, 5, 3}, 64, "kernel_size: 1"},
      {"quadrants_of_an_image", {1, 64, 1, 339}, 64, "kernel_size: 1"},
      {"quadrants_in_slices", {1, 1088, 2, 3}, 64, "kernel_size: 1"},
      {"quadrants_shared_out", {1, 64, 2, 2}, 1088, "kernel_size: 1"},
      {"samples", {3, 64, 9, 8}, 128, "kernel_size: 1 stride: 2"},
      {"samples_of_one_direction", {2, 128, 5, 7}, 64, "kernel_size: 1 stride_h: 1 stride_w: 3"},
      {"samples_of_groups", {2, 64, 7, 8}, 64, "kernel_size: 1 stride_h: 3 stride_w: 2 group: 2"},
      {"samples_of_few_groups", {1, 48, 8, 8}, 32, "kernel_size: 1 stride: 2 group: 4"},
      {"a_row_of_samples", {2, 32, 3, 8}, 32, "kernel_size: 1 stride: 5"},
      {"three_inputs", {2, 3, 17, 19}, 32, "kernel_size: 7 stride: 2 pad: 3"},
      {"ten_outputs", {2, 32, 8, 7}, 10, "kernel_size: 3"},
  };
  return all;
}

inline std::string layer_of(const Window& w) {
  return std::string("name: 'c' type: 'Convolution' bottom: 'x' convolution_param { ") + w.parameter +
         " num_output: " + std::to_string(w.outputs) +
         " weight_filler { type: 'uniform' min: -1 max: 1 } bias_filler { type: 'uniform' } }";
}

/// The shape of a convolution between these layouts; none where whole blocks of a large kernel's weights do not fit a
/// scratchpad.
inline std::optional<ConvolutionShape> shape_of(const std::string& backend, const Window& w, Precision precision,
                                                Layout src, Layout dst) {
  LayerRig rig(backend, layer_of(w), {w.bottom});
  rig.bottom(0).reshape(w.bottom, precision, src);
  rig.layer().choose_plans({{"layout", to_string(dst)}});
  try {
    rig.forward();
  } catch (const PlanError&) { return {}; }
  return static_cast<const ConvolutionLayer&>(rig.layer()).shape();
}

}  // namespace cortado::test
