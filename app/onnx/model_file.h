#pragma once
#include <string>
#include <vector>

#include "app/onnx/onnx.pb.h"
#include "core/tensor/blob.h"

namespace cortado {

/// Reads an ONNX model. Tensors that lie in files beside it get their bytes into `raw_data`. Throws FileError for files
/// that are absent, foreign, truncated or lie elsewhere than beside the model.
void read_onnx(const std::string& file, onnx::ModelProto& model);

/// A constant of a graph: numbers in the order of their shape, floats or integers.
struct FixedTensor {
  Shape shape;
  std::vector<float> floats;
  std::vector<i64> integers;
  bool is_integer = false;

  i64 count() const { return count_of(shape); }
};

/// A tensor's values; `name` is for errors. float, double, int32, int64 and bool are known. Throws FileError for other
/// types, and where values and shape do not fit.
FixedTensor constant_of(const onnx::TensorProto& tensor, const std::string& name);

}  // namespace cortado
