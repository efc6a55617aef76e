#include "parallel_io/feed/zero_source.h"

#include <algorithm>

namespace cortado {

ZeroSource::ZeroSource(const std::vector<Shape>& shapes, i64 samples, i64 batch, i64 places, i64 stored,
                       CoreGroup& group)
    : samples_(samples), stored_(Storage::make_staging(group, stored / 4)) {
  for (i64 i = 0; i < places; ++i) {
    auto made = std::make_shared<Batch>();
    made->shapes = shapes;
    for (const Shape& shape : shapes) {
      made->fields.push_back(Storage::make_staging(group, batch * count_of(shape)));
      const Storage& field = *made->fields.back();
      if (!group.spec().timing_only) std::fill_n(field.data, field.count, 0.0f);
    }
    ring_.push_back(std::move(made));
  }
}

std::shared_ptr<const Batch> ZeroSource::take(i64 first, i64 /*stride*/) {
  const auto& batch = ring_[next_++ % ring_.size()];
  batch->first = first;
  return batch;
}

}  // namespace cortado
