#include "tests/fuzz/small_net.h"

#include "backends/reference/processor.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "tests/net/small_layers.h"

namespace cortado::fuzz {

caffe::NetParameter small_net_parameter() {
  caffe::NetParameter net;
  parse_text(R"(
      layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 } } }
      layer { name: "a" type: "Scale" bottom: "data" top: "a" inner_product_param { num_output: 3 } param { name: "w" } }
      layer { name: "b" type: "Scale" bottom: "a" top: "b" inner_product_param { num_output: 3 transpose: true } }
      layer { name: "c" type: "Scale" bottom: "b" top: "c" inner_product_param { num_output: 3 } param { name: "w" } }
      layer { name: "d" type: "Statistic" bottom: "c" top: "d" })",
             "net", net);
  return net;
}

NetOptions small_net_options() {
  static const auto processor = reference::make_processor({}, {});
  static const LayerTable layers = test::small_layers();
  NetOptions options;
  options.group = &processor->group(0);
  options.layers = &layers;
  return options;
}

Net& small_net() {
  static Net net(small_net_parameter(), small_net_options());
  return net;
}

}  // namespace cortado::fuzz
