#include "layers/data/feeder.h"

#include "core/base/error.h"

namespace cortado {
namespace {
std::size_t bytes_of(const Storage& storage) { return static_cast<std::size_t>(storage.count) * sizeof(float); }

/// The blobs become what was read, in the shape that it has.
void place(const std::vector<std::shared_ptr<Storage>>& fields, const std::vector<Shape>& shapes,
           const Layer::Blobs& top) {
  for (std::size_t i = 0; i < top.size(); ++i) {
    Shape shape = shapes[i];
    shape.insert(shape.begin(), top[i]->dim(0));
    top[i]->reshape(shape);
    top[i]->place_data(fields[i]);
  }
}
}  // namespace

void ZeroCopyFeeder::feed(i64 first, i64 stride, const Layer::Blobs& top) {
  group_.wait();  // who read the last batch must be done with it
  held_.reset();
  held_ = source_.take(first, stride);
  place(held_->fields, held_->shapes, top);
}

Preload::~Preload() {
  for (Buffer& buffer : buffers_) try {
      forget(buffer);
    } catch (const Error&) {}  // a device that failed has said so to whoever waited for it
}

/// Lets go of the host's batch, once it is copied.
void Preload::forget(Buffer& buffer) {
  if (buffer.from) group_.seconds_between(buffer.copied, buffer.copied);  // waits
  buffer.from.reset();
}

void Preload::load(Buffer& buffer, std::shared_ptr<const Batch> batch) {
  buffer.first = batch->first;
  buffer.fields.resize(batch->fields.size());
  for (std::size_t i = 0; i < buffer.fields.size(); ++i)
    if (!buffer.fields[i] || buffer.fields[i]->count < batch->fields[i]->count)
      buffer.fields[i] = Storage::make(group_, batch->fields[i]->count);
  // New fields' zeros, and what computes on the buffer's old values, go first.
  group_.order(Stream{}, copies_);
  for (std::size_t i = 0; i < buffer.fields.size(); ++i) {
    const Storage& from = *batch->fields[i];
    if (from.count > 0) group_.copy(buffer.fields[i]->data, from.data, bytes_of(from), copies_);
  }
  buffer.shapes = batch->shapes;
  buffer.copied = group_.record(copies_);
  buffer.from = std::move(batch);
}

void Preload::feed(i64 first, i64 stride, const Layer::Blobs& top) {
  Buffer &now = buffers_[next_], &then = buffers_[1 - next_];
  forget(then);
  if (now.first != first) {
    forget(now);
    load(now, source_.take(first, stride));
  }
  group_.order(copies_, Stream{});
  place(now.fields, now.shapes, top);
  then.first = -1;
  if (auto batch = source_.take_if_ready()) load(then, std::move(batch));
  next_ = 1 - next_;
}

void MasterScatter::feed(i64 first, i64 stride, const Layer::Blobs& top) {
  const bool is_master = replicas_.group_in_process() == 0;
  if (is_master) {
    const auto batch = source_.take(first, stride);
    whole_.resize(batch->fields.size());
    for (std::size_t i = 0; i < whole_.size(); ++i) {
      const Storage& from = *batch->fields[i];
      if (!whole_[i]) whole_[i] = Storage::make(group_, from.count);
      if (from.count > 0) group_.copy(whole_[i]->data, from.data, bytes_of(from));
    }
    group_.wait();
  }
  const auto& whole = *static_cast<const Fields*>(replicas_.shown_by_master(&whole_));
  for (std::size_t i = 0; i < top.size(); ++i) {
    const i64 count = top[i]->count();
    if (count > 0)
      group_.copy(top[i]->mutable_data(), whole[i]->data + replicas_.group_in_process() * count,
                  static_cast<std::size_t>(top[i]->bytes()));
  }
  group_.wait();
  replicas_.shown_by_master(nullptr);  // the master keeps its values until all have them
}

}  // namespace cortado
