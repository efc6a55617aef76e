#include "app/onnx/import.h"
#include "app/onnx/model_file.h"
#include "core/formats/prototxt.h"
#include "tests/fuzz/target.h"

namespace cortado::fuzz {
namespace {
void read(const std::string& file) {
  onnx::ModelProto model;
  read_onnx(file, model);
  from_onnx(model, file);
}

/// A model of these nodes, with an image, a weight, two vectors and a shape to work on.
std::string model_of(const std::string& nodes) {
  onnx::ModelProto model;
  parse_text(R"(ir_version: 7 opset_import { version: 13 } graph { name: "g" output { name: "y" }
      input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "n" } dim { dim_value: 2 }
                                             dim { dim_value: 4 } dim { dim_value: 4 } } } } }
      initializer { name: "w" data_type: 1 dims: [2, 2, 1, 1] float_data: [1, 2, 3, 4] }
      initializer { name: "m" data_type: 1 dims: [2, 2] float_data: [1, 2, 3, 4] }
      initializer { name: "v" data_type: 1 dims: 2 float_data: [1, 2] }
      initializer { name: "u" data_type: 11 dims: 2 double_data: [3, 4] }
      initializer { name: "s" data_type: 7 dims: 2 int64_data: [0, -1] })" +
                 nodes + "}",
             "model", model);
  return model.SerializeAsString();
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (const std::string nodes :
       {R"(node { op_type: "Conv" input: ["x", "w", "v"] output: "a" attribute { name: "pads" ints: [1, 1, 1, 1] } }
          node { op_type: "BatchNormalization" input: ["a", "v", "u", "v", "u"] output: "b" }
          node { op_type: "Relu" input: "b" output: "c" }
          node { op_type: "Add" input: ["c", "b"] output: "d" }
          node { op_type: "MaxPool" input: "d" output: "e" attribute { name: "kernel_shape" ints: [2, 2] }
                 attribute { name: "strides" ints: [2, 2] } attribute { name: "ceil_mode" i: 1 } }
          node { op_type: "GlobalAveragePool" input: "e" output: "f" }
          node { op_type: "Reshape" input: ["f", "s"] output: "g" }
          node { op_type: "Gemm" input: ["g", "m", "v"] output: "h" attribute { name: "transB" i: 1 } }
          node { op_type: "Softmax" input: "h" output: "y" })",
        R"(node { op_type: "Shape" input: "x" output: "a" }
          node { op_type: "Constant" output: "i" attribute { name: "value_ints" ints: [0, 1] } }
          node { op_type: "Gather" input: ["a", "i"] output: "b" }
          node { op_type: "Concat" input: ["b", "s"] output: "c" attribute { name: "axis" i: 0 } }
          node { op_type: "Slice" input: ["c", "i", "s"] output: "d" }
          node { op_type: "Transpose" input: "x" output: "t" attribute { name: "perm" ints: [0, 2, 3, 1] } }
          node { op_type: "MatMul" input: ["t", "m"] output: "p" }
          node { op_type: "Add" input: ["p", "v"] output: "q" }
          node { op_type: "Split" input: "q" output: ["r", "z"] attribute { name: "axis" i: 2 } }
          node { op_type: "HardSwish" input: "r" output: "k" }
          node { op_type: "Mul" input: ["k", "z"] output: "y" })"})
    all.push_back(model_of(nodes));
  return all;
}
}  // namespace

Target onnx_model() { return {"onnx_model", of_file(read), seeds}; }

}  // namespace cortado::fuzz
