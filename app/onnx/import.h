#pragma once
#include <string>

#include "app/onnx/onnx.pb.h"
#include "core/formats/caffe.pb.h"

namespace cortado {

/// The net that an ONNX graph of opset 11 or newer describes, with its weights in `blobs` of the layers. Dimensions
/// that the graph leaves open are 1 in front, and an error elsewhere. `origin` names the file in errors. Throws
/// Mistakes with a line for each node that cannot be said, FileError where tensors are damaged.
caffe::NetParameter from_onnx(const onnx::ModelProto& model, const std::string& origin);

}  // namespace cortado
