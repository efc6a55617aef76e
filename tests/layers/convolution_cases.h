#pragma once
#include <string>
#include <vector>

#include "core/tensor/blob.h"

namespace cortado::test {

/// A convolution in planes: its bottom, and the text of its parameter.
struct Case {
  std::string name;
  Shape bottom;
  std::string parameter;
};

// Widths around vectors and tiles, one channel, one image, odd strides, dilation, groups, rectangles, padding that is
// wider than the kernel's reach.
inline const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"plain3x3", {2, 3, 7, 9}, "num_output: 5 kernel_size: 3 pad: 1"},
      {"one_by_one", {2, 17, 5, 7}, "num_output: 33 kernel_size: 1"},
      {"one_by_one_stride2", {1, 5, 8, 7}, "num_output: 3 kernel_size: 1 stride: 2"},
      {"one_channel_one_image", {1, 1, 28, 28}, "num_output: 1 kernel_size: 5"},
      {"eleven_stride4", {1, 3, 27, 31}, "num_output: 7 kernel_size: 11 stride: 4"},
      {"seven_stride2_pad3", {2, 3, 14, 15}, "num_output: 9 kernel_size: 7 stride: 2 pad: 3 bias_term: false"},
      {"stride3_odd", {1, 4, 13, 11}, "num_output: 6 kernel_size: 2 stride: 3 pad: 1"},
      {"groups", {2, 6, 9, 8}, "num_output: 4 kernel_size: 5 pad: 2 group: 2"},
      {"depthwise", {1, 17, 7, 7}, "num_output: 17 kernel_size: 3 pad: 1 group: 17"},
      {"depthwise_stride2", {2, 18, 15, 12}, "num_output: 18 kernel_size: 3 stride: 2 pad: 1 group: 18"},
      {"depthwise_five_dilated", {1, 5, 14, 13}, "num_output: 5 kernel_size: 5 dilation: 2 pad: 4 group: 5"},
      {"depthwise_row", {2, 33, 1, 21}, "num_output: 33 kernel_h: 1 kernel_w: 7 pad_h: 0 pad_w: 3 group: 33"},
      {"depthwise_stride_beyond_the_kernel", {2, 3, 11, 13}, "num_output: 3 kernel_size: 2 stride: 4 group: 3"},
      {"depthwise_strides_share_dilations_factor",
       {1, 2, 17, 19},
       "num_output: 2 kernel_h: 3 kernel_w: 4 stride_h: 4 stride_w: 6 dilation: 2 group: 2"},
      {"groups_of_two", {2, 12, 9, 8}, "num_output: 12 kernel_size: 3 pad: 1 group: 6"},
      {"groups_of_three", {1, 21, 8, 11}, "num_output: 21 kernel_size: 3 pad: 1 stride: 2 group: 7"},
      {"groups_of_four", {2, 36, 9, 7}, "num_output: 36 kernel_size: 3 pad: 1 group: 9"},
      {"groups_of_six_dilated", {1, 18, 11, 12}, "num_output: 18 kernel_size: 3 dilation: 2 pad: 2 group: 3"},
      {"groups_of_eight", {1, 24, 5, 19}, "num_output: 24 kernel_h: 1 kernel_w: 7 pad_h: 0 pad_w: 3 group: 3"},
      {"groups_of_thirty_three", {2, 66, 6, 5}, "num_output: 66 kernel_size: 3 pad: 1 group: 2"},
      {"groups_that_grow", {1, 10, 7, 9}, "num_output: 25 kernel_size: 3 stride: 2 group: 5"},
      {"depthwise_times_three", {2, 6, 9, 8}, "num_output: 18 kernel_size: 3 pad: 1 group: 6"},
      {"dilated", {1, 3, 11, 12}, "num_output: 4 kernel_size: 3 dilation: 2 pad: 2"},
      {"stride_beyond_the_kernel", {2, 3, 11, 13}, "num_output: 4 kernel_size: 2 stride: 4"},
      {"strided_and_dilated", {1, 5, 15, 14}, "num_output: 6 kernel_size: 3 stride: 2 dilation: 2 pad: 1"},
      {"strides_share_dilations_factor",
       {1, 2, 17, 19},
       "num_output: 3 kernel_h: 3 kernel_w: 4 stride_h: 4 stride_w: 6 dilation: 2"},
      {"strided_groups", {2, 6, 9, 10}, "num_output: 4 kernel_size: 5 pad: 2 stride: 3 group: 2"},
      {"rectangle", {1, 2, 9, 12}, "num_output: 3 kernel_h: 3 kernel_w: 5 stride_h: 2 stride_w: 1 pad_h: 0 pad_w: 2"},
      {"wide_padding", {1, 2, 3, 3}, "num_output: 2 kernel_size: 2 pad: 3"},
      {"wide_row", {1, 2, 4, 67}, "num_output: 3 kernel_size: 3"},
      {"channels_65", {1, 65, 4, 5}, "num_output: 35 kernel_size: 3 pad: 1"},
      {"seventeen_images", {17, 2, 5, 5}, "num_output: 3 kernel_size: 3"},
      {"image_is_kernel", {2, 3, 4, 4}, "num_output: 5 kernel_size: 4"},
      {"many_terms_of_a_large_kernel", {1, 3, 24, 24}, "num_output: 40 kernel_size: 11 stride: 4"},
      {"winograd_tiles", {3, 5, 8, 12}, "num_output: 7 kernel_size: 3 pad: 1"},
      {"winograd_edges", {2, 18, 15, 69}, "num_output: 3 kernel_size: 3 pad_h: 0 pad_w: 2"},
      {"winograd_groups", {2, 38, 9, 10}, "num_output: 36 kernel_size: 3 pad: 1 group: 2"},
      {"winograd_shared_panels", {1, 20, 4, 4}, "num_output: 130 kernel_size: 3 pad: 1"},
      {"winograd_rows_left_over", {5, 3, 12, 12}, "num_output: 17 kernel_size: 3 pad: 1"},
      {"winograd_one_output", {1, 1, 3, 3}, "num_output: 1 kernel_size: 3"},
      {"winograd_of_five", {2, 18, 15, 21}, "num_output: 5 kernel_size: 5 pad_h: 0 pad_w: 4"},
      {"winograd_of_four", {2, 18, 14, 9}, "num_output: 5 kernel_size: 4 pad_h: 1 pad_w: 3"},
      {"winograd_in_phases", {3, 5, 21, 30}, "num_output: 7 kernel_size: 5 stride: 2 pad: 2"},
      {"winograd_in_phases_of_two_strides",
       {2, 3, 31, 27},
       "num_output: 18 kernel_h: 7 kernel_w: 10 stride_h: 2 stride_w: 3 pad: 3"},
      {"winograd_in_phases_beyond_the_edge", {2, 6, 9, 40}, "num_output: 3 kernel_size: 9 stride: 2 pad: 4"},
      {"winograd_in_phases_groups", {2, 6, 24, 25}, "num_output: 4 kernel_size: 8 stride: 3 group: 2"},
      {"winograd_of_five_groups", {2, 38, 8, 9}, "num_output: 36 kernel_size: 5 pad: 2 group: 2"},
  };
  return all;
}

}  // namespace cortado::test
