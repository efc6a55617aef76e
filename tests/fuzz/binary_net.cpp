#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "tests/fuzz/target.h"

namespace cortado::fuzz {
namespace {
/// As a net, and as a state.
void read(const std::string& file) {
  expect_errors_only([&] {
    caffe::NetParameter net;
    read_binary(file, net);
    upgrade_net(net, file);
    to_text(net);
  });
  caffe::SolverState state;
  read_binary(file, state);
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (const std::string text : {
           R"(name: "net" layer { name: "c" type: "Convolution" bottom: "a" top: "b" phase: TEST loss_weight: 1
                blobs { shape { dim: 2 dim: 3 } data: [1, 2, 3, 4, 5, 6] diff: [6, 5, 4, 3, 2, 1] }
                convolution_param { num_output: 2 kernel_size: 3 weight_filler { type: "msra" } } }
              layer { name: "n" type: "BatchNorm" param {} param {} param {} })",
           R"(input: "data" input: "label" input_shape { dim: 2 dim: 3 } input_shape { dim: 2 }
              layers { name: "c" type: CONVOLUTION bottom: "data" top: "c" blobs_lr: 1 weight_decay: 0 param: "w"
                blob_share_mode: STRICT convolution_param { num_output: 4 kernel_size: 3 }
                blobs { num: 1 channels: 1 height: 1 width: 2 double_data: [0.5, -1] } include { phase: TEST } }
              layers { name: "w" type: WINDOW_DATA window_data_param { source: "a" crop_size: 2 mean_file: "m" } })",
           R"(input: "data" input_dim: 1 input_dim: 1 input_dim: 4 input_dim: 4
              layers { layer { name: "p" type: "padding" pad: 2 } bottom: "data" top: "p" }
              layers { layer { name: "c" type: "conv" num_output: 1 kernelsize: 5 biasterm: false group: 1
                blobs { num: 1 channels: 1 height: 1 width: 1 data: 3 } } bottom: "p" top: "c" }
              layers { layer { name: "i" type: "images" source: "list" batchsize: 2 new_height: 5 } top: "i" })",
       }) {
    caffe::NetParameter net;
    parse_text(text, "seed", net);
    all.push_back(net.SerializeAsString());
  }
  caffe::SolverState state;
  parse_text(R"(iter: 7 learned_net: "x" current_step: 2 history { shape { dim: 2 } data: [1, 2] }
                cortado { plan { direction: "c/forward" candidate: "implicit" } ranks: 3 })",
             "seed", state);
  all.push_back(state.SerializeAsString());
  return all;
}
}  // namespace

Target binary_net() { return {"binary_net", of_file(read), seeds}; }

}  // namespace cortado::fuzz
