#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/input/input.h"

namespace cortado {
namespace {

/// Caffe's MemoryData: tops data (batch_size x channels x height x width) and label (batch_size), which the caller
/// fills as with Input.
class MemoryDataLayer : public InputLayer {
 public:
  using InputLayer::InputLayer;
  Arity tops() const override { return {2, 2}; }
  void setup(const Blobs&, const Blobs& top) override {
    const auto& p = parameter().memory_data_param();
    if (p.batch_size() < 1 || p.channels() < 1 || p.height() < 1 || p.width() < 1)
      bad_config("batch_size, channels, height and width must be at least 1");
    top[0]->reshape({p.batch_size(), p.channels(), p.height(), p.width()});
    top[1]->reshape({p.batch_size()});
  }
};

}  // namespace

void add_memory_data(LayerTable& table) { table.add<MemoryDataLayer>("MemoryData"); }

}  // namespace cortado
