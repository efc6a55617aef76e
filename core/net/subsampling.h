#pragma once
#include <optional>

#include "core/formats/caffe.pb.h"

namespace cortado {

/// The layer that takes, of the bottom of the Split at `split`, the pixels that its readers read, where all of them are
/// convolutions of single pixels with the same stride; readers and split are changed to work on these pixels alone.
/// Between the stages of residual nets two convolutions would otherwise each gather every fourth pixel, and each fill
/// three quarters of a gradient with zeros, to be added. Nothing where the readers do not agree. What it makes is a net
/// of Caffe's, too: an average over windows of one pixel. For bottoms of four axes.
std::optional<caffe::LayerParameter> share_subsampling(caffe::NetParameter& net, int split);

}  // namespace cortado
