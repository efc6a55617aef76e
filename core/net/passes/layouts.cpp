#include <algorithm>

#include "core/base/layout.h"
#include "core/net/passes/passes.h"

// Convolutions make their tops in blocks of channels where that pays, and layers that take blocks pass them on. A layer
// that takes planes gets a copy by a Reorder. A layer in place works in place on the copy, which takes over the blob's
// name: splits have left no other reader.
//
//   conv --blocks--> relu --blocks--> softmax   ==>   conv --> relu --blocks--> Reorder --planes--> softmax
//
// Without this pass every blob lies in planes.
namespace cortado {

void passes::layouts(NetGraph& graph) {
  const Layer& layer = graph.coming();
  caffe::LayerParameter& parameter = *graph.text.mutable_layer(graph.next);
  Layer::Blobs bottom;
  for (const auto& name : parameter.bottom()) bottom.push_back(graph.blobs.at(name).blob.get());
  const auto in_blocks = [](const Blob* blob) { return blob->layout() == Layout::nchw16c; };
  if (lie_in_blocks(bottom) && layer.keeps_blocks(bottom)) return;
  std::vector<caffe::LayerParameter> reorders;
  for (std::size_t i = 0; i < bottom.size(); ++i) {
    if (!in_blocks(bottom[i]) || layer.uses_shape_only(i)) continue;
    const int index = static_cast<int>(i);
    const std::string name = parameter.bottom(index), prefix = name + "_" + parameter.name() + "_";
    caffe::LayerParameter& reorder = reorders.emplace_back();
    reorder.set_type(graph.options.layers->type_of(Role::reorder));
    reorder.set_name(prefix + to_string(Layout::nchw));
    if (index < parameter.top_size() && parameter.top(index) == name) {
      reorder.add_bottom(prefix + to_string(Layout::nchw16c));
      reorder.add_top(name);
      graph.rename_blob(name, reorder.bottom(0));
    } else {
      reorder.add_bottom(name);
      reorder.add_top(reorder.name());
      parameter.set_bottom(index, reorder.name());
    }
    graph.did(reorder.name() + " copies " + name + " into planes for " + parameter.name());
  }
  for (auto reorder = reorders.rbegin(); reorder != reorders.rend(); ++reorder) graph.insert(*reorder);
}

}  // namespace cortado
