#include "layers/memory_data/memory_data.h"

#include "core/formats/caffe.pb.h"

namespace cortado {

void MemoryDataLayer::setup(const Blobs&, const Blobs& top) {
  const auto& p = parameter().memory_data_param();
  if (p.batch_size() < 1 || p.channels() < 1 || p.height() < 1 || p.width() < 1)
    bad_config("batch_size, channels, height and width must be at least 1");
  top[0]->reshape({p.batch_size(), p.channels(), p.height(), p.width()});
  top[1]->reshape({p.batch_size()});
}

}  // namespace cortado
