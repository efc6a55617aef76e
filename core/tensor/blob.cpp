#include "core/tensor/blob.h"

#include "core/base/error.h"

namespace cortado {
namespace {
/// Empty blobs have no memory, and null pointers are no arguments for a copy.
void copy_and_wait(CoreGroup& group, float* to, const float* from, i64 count) {
  if (count == 0) return;
  group.copy(to, from, static_cast<std::size_t>(count) * sizeof(float));
  group.wait();
}
}  // namespace

i64 count_of(const Shape& shape) {
  i64 n = 1;
  for (const i64 d : shape) n *= d;
  return n;
}

std::string to_string(const Shape& shape) {
  std::string text;
  for (const i64 d : shape) text += std::to_string(d) + " ";
  return text + "(" + std::to_string(count_of(shape)) + ")";
}

std::shared_ptr<Storage> Storage::make(CoreGroup& group, i64 count) {
  auto memory = std::make_shared<ClusterMemory>(group, static_cast<std::size_t>(count) * sizeof(float));
  auto storage = std::make_shared<Storage>();
  storage->data = memory->as<float>();
  storage->count = count;
  storage->owner = memory;
  if (count > 0) group.zero(storage->data, memory->bytes());
  return storage;
}

std::shared_ptr<Storage> Storage::range(const std::shared_ptr<Storage>& arena, i64 first, i64 count) {
  require(first >= 0 && first + count <= arena->count, "a range lies inside its arena");
  auto storage = std::make_shared<Storage>();
  storage->data = arena->data + first;
  storage->count = count;
  storage->owner = arena;
  return storage;
}

i64 Blob::count(int from, int to) const {
  i64 n = 1;
  for (int i = from; i < to; ++i) n *= shape_[static_cast<std::size_t>(i)];
  return n;
}

int Blob::canonical_axis(int axis) const {
  if (axis < -axes() || axis >= axes())
    throw ShapeError("", "axis " + std::to_string(axis) + " of a blob with shape " + to_string(shape_));
  return axis < 0 ? axis + axes() : axis;
}

i64 Blob::legacy(int axis) const {
  if (axes() > 4) throw ShapeError("", "expected at most 4 axes, the blob has shape " + to_string(shape_));
  return axis < axes() ? shape_[static_cast<std::size_t>(axis)] : 1;
}

void Blob::reshape(const Shape& shape) {
  for (const i64 d : shape)
    if (d < 0) throw ShapeError("", "a dimension is negative: " + to_string(shape));
  shape_ = shape;
  count_ = count_of(shape);
  if (data_ && data_->count < count_) data_.reset();
  if (diff_ && diff_->count < count_) diff_.reset();
}

std::shared_ptr<Storage>& Blob::ensure(std::shared_ptr<Storage>& place) const {
  if (!place) place = Storage::make(*group_, count_);
  return place;
}

const float* Blob::data() const { return ensure(data_)->data; }
float* Blob::mutable_data() { return ensure(data_)->data; }
const float* Blob::diff() const { return ensure(diff_)->data; }
float* Blob::mutable_diff() { return ensure(diff_)->data; }

void Blob::share_data(const Blob& other) {
  require(count_ == other.count_, "blobs that share values have equal counts");
  data_ = other.ensure(other.data_);
}

void Blob::share_diff(const Blob& other) {
  require(count_ == other.count_, "blobs that share gradients have equal counts");
  diff_ = other.ensure(other.diff_);
}

void Blob::read_data(float* host) const { copy_and_wait(*group_, host, data(), count_); }

void Blob::read_diff(float* host) const { copy_and_wait(*group_, host, diff(), count_); }

void Blob::write_data(const float* host) { copy_and_wait(*group_, mutable_data(), host, count_); }

void Blob::write_diff(const float* host) { copy_and_wait(*group_, mutable_diff(), host, count_); }

std::vector<float> Blob::data_vector() const {
  std::vector<float> host(static_cast<std::size_t>(count_));
  read_data(host.data());
  return host;
}

std::vector<float> Blob::diff_vector() const {
  std::vector<float> host(static_cast<std::size_t>(count_));
  read_diff(host.data());
  return host;
}

void Blob::zero_diff() {
  if (count_ > 0) group_->zero(mutable_diff(), static_cast<std::size_t>(count_) * sizeof(float));
}

}  // namespace cortado
