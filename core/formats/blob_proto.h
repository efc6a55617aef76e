#pragma once
#include <string>
#include <vector>

#include "core/tensor/blob.h"

namespace caffe {
class BlobProto;
class BlobShape;
}  // namespace caffe

namespace cortado {

/// The dimensions as written. Throws ShapeError for a negative one.
Shape shape_of(const caffe::BlobShape& shape);
/// The shape of a stored blob: its `shape`, or the legacy `num channels height width` where any of these is set.
Shape shape_of(const caffe::BlobProto& proto);

/// The values (gradients) of a stored blob, from `data` or `double_data`. Throws FileError naming `where` unless there
/// is one for each element of its shape.
std::vector<float> values_of(const caffe::BlobProto& proto, const std::string& where);
std::vector<float> gradients_of(const caffe::BlobProto& proto, const std::string& where);

/// True if a stored blob may be copied into one of shape `shape`: the same shape but for ones. Caffe's old bias blobs
/// are 1 x 1 x 1 x N, the vectors of its forks 1 x N x 1 x 1.
bool fits(const caffe::BlobProto& proto, const Shape& shape);

/// Writes the shape and values of `blob`, and its gradients if `with_diff`. Waits for the cluster.
void to_proto(const Blob& blob, caffe::BlobProto& proto, bool with_diff = false);
/// The same for values in host memory. Empty `gradients` write none.
void to_proto(const Shape& shape, const std::vector<float>& values, const std::vector<float>& gradients,
              caffe::BlobProto& proto);

}  // namespace cortado
