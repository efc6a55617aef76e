#pragma once
#include <optional>

#include "core/formats/caffe.pb.h"

namespace cortado {

class Net;

/// A layer's BatchNorm blobs as Caffe's forks write them, in Caffe's form, with a warning; none where there is no need:
/// vectors of 1 x N x 1 x 1 become plain; a third blob of 0 beside statistics that are not 0 (they are whole already)
/// becomes 1; of five blobs (NVIDIA's, with `scale_bias`), the last two become those of the Scale that follows in the
/// net, added to `more`. Throws ShapeError where five blobs have no such Scale.
std::optional<caffe::LayerParameter> settle_fork_blobs(const Net& net, const caffe::LayerParameter& stored,
                                                       caffe::NetParameter& more);

}  // namespace cortado
