#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/formats/weight_files.h"
#include "tests/fuzz/small_net.h"
#include "tests/fuzz/target.h"

namespace cortado::fuzz {
namespace {
caffe::NetParameter of_text(const std::string& text) {
  caffe::NetParameter net;
  parse_text(text, "net", net);
  return net;
}

void read(const std::string& file) {
  caffe::NetParameter weights;
  read_weights(file, nullptr, weights);
  small_net().copy_trained(weights);
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

Target caffemodel() { return {"caffemodel", of_file(read), seeds}; }

}  // namespace cortado::fuzz
