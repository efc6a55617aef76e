#pragma once
#include <string>
#include <vector>

#include "app/onnx/onnx.pb.h"
#include "core/net/net.h"

namespace cortado {

/// A net that scores as an ONNX model of opset 13, weights included. Outputs are the net's, and the blobs in `wanted`,
/// which are the net's too. Values are as the net's, within rounding; batch
/// and sizes are those that the net is shaped for. Blobs keep their names; where layers work in place, the last one's
/// result has the name. Throws Mistakes with a line for each layer that ONNX cannot say.
onnx::ModelProto to_onnx(const Net& net, const std::vector<std::string>& wanted = {});

/// Writes that model to a file, for programs without ONNX's messages. Throws as to_onnx; FileError.
void write_onnx(const Net& net, const std::string& file, const std::vector<std::string>& wanted = {});

}  // namespace cortado
