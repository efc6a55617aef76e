#include "backends/reference/processor.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/formats/weight_files.h"
#include "tests/fuzz/target.h"
#include "tests/net/small_layers.h"

namespace cortado::fuzz {
namespace {
caffe::NetParameter of_text(const std::string& text) {
  caffe::NetParameter net;
  parse_text(text, "net", net);
  return net;
}

/// A vector, a 1 x 3 matrix, a vector that shares the first one's values, and a statistic.
Net& small_net() {
  static const auto processor = reference::make_processor({}, {});
  static const LayerTable layers = test::small_layers();
  static Net net(of_text(R"(
      layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 } } }
      layer { name: "a" type: "Scale" bottom: "data" top: "a" inner_product_param { num_output: 3 } param { name: "w" } }
      layer { name: "b" type: "Scale" bottom: "a" top: "b" inner_product_param { num_output: 3 transpose: true } }
      layer { name: "c" type: "Scale" bottom: "b" top: "c" inner_product_param { num_output: 3 } param { name: "w" } }
      layer { name: "d" type: "Statistic" bottom: "c" top: "d" })"),
                 [] {
                   NetOptions options;
                   options.group = &processor->group(0);
                   options.layers = &layers;
                   return options;
                 }());
  return net;
}

void run(const std::uint8_t* data, std::size_t size) {
  Net& net = small_net();
  const InputFile file(data, size);
  expect_errors_only([&] {
    caffe::NetParameter weights;
    read_weights(file.name(), nullptr, weights);
    net.copy_trained(weights);
  });
}

std::vector<std::string> seeds() {
  caffe::NetParameter own;
  small_net().to_proto(own, true);
  std::vector<std::string> all = {own.SerializeAsString(), to_text(own)};
  for (
      const std::string text :
      {R"(layers { name: "a" type: POWER blobs { num: 1 channels: 1 height: 1 width: 3 data: [1, 2, 3] } }
           layers { name: "b" type: POWER blobs { num: 1 channels: 1 height: 1 width: 3 double_data: [1, 2, 3] } })",
       R"(layers { layer { name: "d" type: "innerproduct" blobs { channels: 1 height: 1 width: 3 data: [1, 2, 3] } } })",
       R"(layer { name: "a" blobs { shape { dim: 3 } double_data: [1, 2, 3] } }
           layer { name: "b" blobs { shape { dim: 1 dim: 3 } data: [1, 2, 3] } } layer { name: "c" blobs {} }
           layer { name: "elsewhere" blobs { shape { dim: 1 } data: 4 } })"})
    all.push_back(of_text(text).SerializeAsString());
  return all;
}
}  // namespace

Target caffemodel() { return {"caffemodel", run, seeds}; }

}  // namespace cortado::fuzz
