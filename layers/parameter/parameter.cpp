#include "core/formats/blob_proto.h"
#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/gemm/gemm.h"

namespace cortado {
namespace {

/// Caffe's Parameter: a learnable blob of a given shape, as a top. It begins with zeros, unless weights are loaded.
class ParameterLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {0, 0}; }
  void setup(const Blobs&, const Blobs&) override {
    add_parameter(shape_of(parameter().parameter_param().shape()), caffe::FillerParameter());
  }

  void reshape(const Blobs&, const Blobs& top) override { top[0]->reshape(blobs()[0]->shape()); }

  void forward(const Blobs&, const Blobs& top) override { top[0]->share_data(*blobs()[0]); }

  void backward(const Blobs& top, const std::vector<bool>&, const Blobs&) override {
    // Gradients of parameters add up over the micro-batches of an iteration, those of tops do not.
    if (param_propagate_down(0)) sum_columns(group(), top[0]->diff(), 1, top[0]->count(), blobs()[0]->mutable_diff());
  }
};

}  // namespace

void add_parameter(LayerTable& table) { table.add<ParameterLayer>("Parameter"); }

}  // namespace cortado
