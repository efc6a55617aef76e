#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "app/onnx/model_file.h"
#include "core/formats/caffe.pb.h"

namespace cortado {

/// The number of values that a blob of an imported net stays below.
constexpr i64 most_values = i64{1} << 40;

/// A value of an ONNX graph: a constant, or a blob of the net.
struct Value {
  Shape shape;
  std::string blob;                             ///< empty: a constant
  std::shared_ptr<const FixedTensor> constant;  ///< where its values are at hand
  const onnx::TensorProto* stored = nullptr;    ///< else the tensor that has them
  bool is_own = true;                           ///< nobody else reads the blob but who reads this value
  bool is_input = false;                        ///< the caller fills it
  std::vector<i64> pads;                        ///< zeros that belong around the blob: begins and ends of axes

  bool is_constant() const { return blob.empty(); }
};

/// The net under construction, and the values of the graph so far.
struct ImportedNet {
  caffe::NetParameter net;
  std::map<std::string, Value> values;
  std::map<std::string, int> readers;  ///< of each value; a graph's output counts as one
  std::set<std::string> names;         ///< of layers and blobs
  i64 opset = 0;
};

/// One node on its way into the net.
class NodeImport {
 public:
  NodeImport(const onnx::NodeProto& node, ImportedNet& to) : node_(node), to_(to) {}

  const std::string& type() const { return node_.op_type(); }
  i64 opset() const { return to_.opset; }

  // Attributes, or `otherwise` where there is none.
  i64 integer(const std::string& name, i64 otherwise) const;
  float number(const std::string& name, float otherwise) const;
  std::string word(const std::string& name, const std::string& otherwise) const;
  std::vector<i64> integers(const std::string& name, const std::vector<i64>& otherwise) const;
  const onnx::AttributeProto* attribute(const std::string& name) const;  ///< nullptr: there is none

  // Inputs. An optional input may be absent.
  std::size_t inputs() const { return static_cast<std::size_t>(node_.input_size()); }
  std::size_t outputs() const { return static_cast<std::size_t>(node_.output_size()); }
  bool has(std::size_t i) const { return i < inputs() && !node_.input(static_cast<int>(i)).empty(); }
  const std::string& input_name(std::size_t i) const { return node_.input(static_cast<int>(i)); }
  const Value& in(std::size_t i = 0) const;
  const Shape& shape(std::size_t i = 0) const { return in(i).shape; }
  i64 rank() const { return static_cast<i64>(shape().size()); }
  /// An axis of input 0, counted from the front; the node cannot be said where it lies outside.
  i64 axis(i64 given, i64 rank) const;
  i64 axis(i64 given) const { return axis(given, rank()); }
  /// The blob that is input `i`. The node cannot be said if it is a constant, or padded.
  const std::string& blob_in(std::size_t i) const;
  /// The values of a constant input. The node cannot be said if it is none.
  std::shared_ptr<const FixedTensor> constant(std::size_t i) const;
  std::vector<float> floats(std::size_t i) const;
  std::vector<i64> whole(std::size_t i) const;
  float scalar(std::size_t i) const;
  /// Integers that older opsets have as an attribute, newer ones as input `i`.
  std::vector<i64> integers_of(const std::string& attribute, std::size_t i, const std::vector<i64>& otherwise) const;
  /// True if nobody but this node reads input `i`.
  bool is_only_reader(std::size_t i) const;
  /// The layer that makes input `i`, if this node is its only reader; nullptr: there is none.
  caffe::LayerParameter* only_maker(std::size_t i);

  /// Adds a layer with bottoms inputs `bottoms`, whose top is output 0, of `shape`.
  caffe::LayerParameter& add(const std::string& type, const std::vector<std::size_t>& bottoms, const Shape& shape);
  /// The same, in place if nobody else reads input 0.
  caffe::LayerParameter& add_in_place(const std::string& type, const Shape& shape);
  /// Adds a layer within this node: it reads blobs, and its top, of its own name, is returned.
  caffe::LayerParameter& add_inner(const std::string& type, const std::vector<std::string>& bottoms,
                                   const std::string& suffix);
  /// Output `i` is this blob.
  void result(const std::string& blob, const Shape& shape, std::size_t i = 0);
  void result(FixedTensor constant, std::size_t i = 0);
  /// Output 0 is input `i`, in another shape or not.
  void pass_on(std::size_t i = 0);
  /// Output 0 is the bottom of `maker`, which makes input 0 for nobody else, and goes.
  void undo_maker(const caffe::LayerParameter& maker);
  /// Outputs are the parts of input 0 along an axis, in order.
  void slice(std::size_t axis, const std::vector<i64>& sizes);
  /// Output 0 is [begin, end) of input 0 along an axis.
  void cut(std::size_t axis, i64 begin, i64 end);
  /// Lets output 0, which a layer makes, have this shape too: its axes behind the first become one.
  void flatten_result(const Shape& shape);
  Value& output(std::size_t i);
  /// True if nobody reads output `i`.
  bool output_is_unused(std::size_t i) const;
  /// A name that no layer has: that of the weights' module, or of the node.
  std::string new_name(const std::string& suffix = "");

  static void add_blob(const Shape& shape, const std::vector<float>& values, caffe::LayerParameter& layer);

  /// Throws ConfigError naming the node.
  [[noreturn]] void cannot(const std::string& what, const std::string& advice = "") const;

 private:
  const onnx::NodeProto& node_;
  ImportedNet& to_;
  std::string name_;
};

using TakeNode = void (*)(NodeImport&);
using TakeTable = std::map<std::string, TakeNode>;

// Each adds the operations of its file.
void take_windows(TakeTable& table);
void take_functions(TakeTable& table);
void take_products(TakeTable& table);
void take_shapes(TakeTable& table);

/// Computes a node whose inputs are small constants, as chains that compute shapes have them. False: it is none, or no
/// such operation.
bool fold_node(NodeImport& node);

}  // namespace cortado
