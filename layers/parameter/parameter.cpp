#include "layers/parameter/parameter.h"

#include "core/formats/blob_proto.h"
#include "core/formats/caffe.pb.h"
#include "layers/gemm/gemm.h"

namespace cortado {

void ParameterLayer::setup(const Blobs&, const Blobs&) {
  add_parameter(shape_of(parameter().parameter_param().shape()), caffe::FillerParameter());
}

void ParameterLayer::reshape(const Blobs&, const Blobs& top) { top[0]->reshape(blobs()[0]->shape()); }

void ParameterLayer::forward(const Blobs&, const Blobs& top) { top[0]->share_data(*blobs()[0]); }

void ParameterLayer::backward(const Blobs& top, const std::vector<bool>&, const Blobs&) {
  // Gradients of parameters add up over the micro-batches of an iteration, those of tops do not.
  if (param_propagate_down(0)) sum_columns(group(), top[0]->diff(), 1, top[0]->count(), blobs()[0]->mutable_diff());
}

}  // namespace cortado
