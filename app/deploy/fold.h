#pragma once
#include "core/formats/caffe.pb.h"

namespace cortado {

/// Takes maps by channel out of a net that only scores, and returns how many layers went.
///
///   Convolution --> BatchNorm --> Scale --> ReLU     ==>     Convolution --> ReLU
///   Concat --> BatchNorm --> Scale                   ==>     Concat --> Scale
///
/// BatchNorm with running statistics becomes a Scale with a bias. A Scale or Bias by channel goes into the weights of
/// the Convolution, Deconvolution, InnerProduct or Scale in front, if nobody else reads what that makes, and no layer
/// shares its parameters. The net's layers hold their values in `blobs`; layers without stay. Outputs are the same
/// within rounding.
int fold_maps(caffe::NetParameter& net);

}  // namespace cortado
