#include "layers/input/input.h"

#include "core/formats/blob_proto.h"
#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"

namespace cortado {

void InputLayer::divide_batch(caffe::LayerParameter& parameter, const BatchShare& share) {
  auto& p = *parameter.mutable_input_param();
  for (auto& shape : *p.mutable_shape())
    if (shape.dim_size() > 0) shape.set_dim(0, share(shape.dim(0)));
}

void InputLayer::setup(const Blobs&, const Blobs& top) {
  const auto& shapes = parameter().input_param().shape();
  const auto given = static_cast<std::size_t>(shapes.size());
  if (given > 1 && given != top.size())
    bad_config(std::to_string(given) + " shapes for " + std::to_string(top.size()) + " tops",
               "give one shape for all or one for each");
  for (std::size_t i = 0; i < top.size() && given > 0; ++i)
    top[i]->reshape(shape_of(shapes.Get(given == 1 ? 0 : static_cast<int>(i))));
}

void add_input(LayerTable& table) { table.add<InputLayer>("Input"); }

}  // namespace cortado
