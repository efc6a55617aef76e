#pragma once
#include "core/formats/caffe.pb.h"
#include "core/net/layer.h"

namespace cortado {

/// The net for mixed precision: convolutions, inner products, and what follows them as far as it can
/// (LayerTable::keeps_bf16), pass bf16 on; other layers, and those whose `precision` is FP32, take and make float. A
/// Cast layer, named BLOB_LAYER_bf16 or BLOB_LAYER_fp32 as its top, stands where the two meet. A layer in place works
/// in place on what was cast, under the blob's own name; what stood there before is called as the cast would be.
/// Parameters, their gradients and sums are float in any case.
caffe::NetParameter insert_casts(const caffe::NetParameter& net, const LayerTable& layers);

}  // namespace cortado
