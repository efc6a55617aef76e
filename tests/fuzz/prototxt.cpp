#include "core/formats/prototxt.h"

#include "core/formats/caffe.pb.h"
#include "tests/fuzz/target.h"

namespace cortado::fuzz {
namespace {
void read(const std::string& file) {
  caffe::NetParameter net;
  read_text(file, net);
  upgrade_net(net, file);
  to_text(net);
}

std::vector<std::string> seeds() {
  return {
      R"(name: "net"  # a comment { with a brace
layer { name: 'in' type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 8 dim: 8 } } }
layer {
  name: "conv" type: "Convolution" bottom: "data" top: "conv" param { lr_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
  convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } }
  include: { phase: TRAIN stage: "a" }
}
layer: < name: "bn" type: "BatchNorm" bottom: "conv" top: "conv" param {} param {} param {} >
layer { name: "pool" type: "Pooling" pooling_param: { pool: AVE kernel_size: 2; stride: 2, } loss_weight: [1, 0.5e-1] }
)",
      R"(input: "data" input_dim: 1 input_dim: 3 input_dim: 4 input_dim: 4
layers { name: "conv" type: CONVOLUTION bottom: "data" top: "conv" blobs_lr: 1 blobs_lr: 2 weight_decay: 1 param: "w"
  blob_share_mode: PERMISSIVE convolution_param { num_output: 4 kernel_size: 3 }
  blobs { num: 1 channels: 1 height: 1 width: 1 data: 0.5 } include { phase: TEST } }
layers { name: "d" type: DATA data_param { source: "a" batch_size: 2 scale: 0.5 mirror: true } }
)",
      R"(layers { layer { name: "in" type: "data" source: "db" meanfile: "m" batchsize: 8 cropsize: 24 } top: "data" }
layers { layer { name: "pad" type: "padding" pad: 2 } bottom: "data" top: "pad" }
layers { layer { name: "c" type: "conv" num_output: 6 kernelsize: 5 weight_filler { type: "gaussian" std: 0.1 }
  blobs_lr: 1 weight_decay: 1 } bottom: "pad" top: "c" }
)",
      "layer { typ: \"ReLU\" pooling_param { pool: SUM } }\nnme: 3\nlayer { botom { x: [1, -2], y < z: 'w' > } }",
  };
}

}  // namespace

Target prototxt() { return {"prototxt", of_file(read), seeds, caffe_words}; }

}  // namespace cortado::fuzz
