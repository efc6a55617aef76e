#include "core/tensor/blob.h"

#include <algorithm>

#include "core/base/error.h"

namespace cortado {
namespace {
/// Empty blobs have no memory, and null pointers are no arguments for a copy.
void copy_and_wait(CoreGroup& group, void* to, const void* from, i64 bytes) {
  if (bytes == 0) return;
  group.copy(to, from, static_cast<std::size_t>(bytes));
  group.wait();
}

/// Calls f(where an element is in row-major order, where it lies) for all elements.
template <class F>
void each_place(const Shape& shape, Layout layout, F f) {
  const auto count = static_cast<std::size_t>(count_of(shape));
  const std::size_t block = static_cast<std::size_t>(shape.size() == 4 ? channel_block(layout, shape[1]) : 1),
                    pixels = block > 1 ? static_cast<std::size_t>(shape[2] * shape[3]) : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t pixel = i % pixels, channel = i / pixels % block;
    f(i, i - (channel * pixels + pixel) + pixel * block + channel);
  }
}

constexpr i64 most_elements = i64{1} << 56;  // their bytes, and those of a batch of them, can be counted too

std::optional<i64> product(const Shape& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  i64 n = 1;
  for (const i64 d : shape)
    if (__builtin_mul_overflow(n, d, &n) || n > most_elements || n < -most_elements) return {};
  return n;
}
}  // namespace

std::optional<i64> counted(const Shape& shape) {
  if (std::any_of(shape.begin(), shape.end(), [](i64 d) { return d < 0; })) return {};
  return product(shape);
}

i64 count_of(const Shape& shape) {
  const auto n = product(shape);
  if (!n) throw ShapeError("", "a blob of shape " + to_string(shape) + " has more elements than can be counted");
  return *n;
}

std::string to_string(const Shape& shape) {
  std::string text;
  for (const i64 d : shape) text += std::to_string(d) + " ";
  const auto n = product(shape);
  return text + "(" + (n ? std::to_string(*n) : "too many") + ")";
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

std::shared_ptr<Storage> Storage::make_staging(CoreGroup& group, i64 count) {
  void* const memory = count > 0 ? group.allocate_staging(static_cast<std::size_t>(count) * sizeof(float)) : nullptr;
  auto storage = std::make_shared<Storage>();
  storage->data = static_cast<float*>(memory);
  storage->count = count;
  storage->owner = std::shared_ptr<void>(memory, [&group](void* p) {
    if (p != nullptr) group.release_staging(p);
  });
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

void Blob::reshape(const Shape& shape, Precision precision, Layout layout) {
  for (const i64 d : shape)
    if (d < 0) throw ShapeError("", "a dimension is negative: " + to_string(shape));
  shape_ = shape;
  count_ = count_of(shape);
  precision_ = precision;
  require(layout == Layout::nchw ||
              (shape.size() == 4 && shape[1] % std::max<i64>(1, channel_block(layout, shape[1])) == 0),
          "blocks are of whole sixteens of an image's channels");
  layout_ = layout != Layout::nchw && shape[2] * shape[3] != 1 ? layout : Layout::nchw;
  if (data_ && data_->count < storage()) data_.reset();
  if (diff_ && diff_->count < storage()) diff_.reset();
}

std::shared_ptr<Storage>& Blob::made(std::shared_ptr<Storage>& place) const {
  if (!place) place = Storage::make(*group_, storage());
  return place;
}

/// Its zeros are written, too.
std::shared_ptr<Storage>& Blob::ensure(std::shared_ptr<Storage>& place) const {
  Storage& memory = *made(place);
  if (memory.awaits_zeros) group_->zero(memory.data, static_cast<std::size_t>(memory.count) * sizeof(float));
  memory.awaits_zeros = false;
  return place;
}

void Blob::read(std::shared_ptr<Storage>& place, float* host) const {
  if (is_floats()) return copy_and_wait(*group_, host, ensure(place)->data, bytes());
  with_element(precision_, [&](auto element) {
    std::vector<decltype(element)> stored(static_cast<std::size_t>(count_));
    copy_and_wait(*group_, stored.data(), ensure(place)->data, bytes());
    each_place(shape_, layout_, [&](std::size_t row_major, std::size_t at) { host[row_major] = stored[at]; });
  });
}

void Blob::write(std::shared_ptr<Storage>& place, const float* host) {
  if (is_floats()) return copy_and_wait(*group_, ensure(place)->data, host, bytes());
  with_element(precision_, [&](auto element) {
    std::vector<decltype(element)> stored(static_cast<std::size_t>(count_));
    each_place(shape_, layout_, [&](std::size_t row_major, std::size_t at) { stored[at] = host[row_major]; });
    copy_and_wait(*group_, ensure(place)->data, stored.data(), bytes());
  });
}

void Blob::share_data(const Blob& other) {
  require(bytes() == other.bytes(), "blobs that share values have equal sizes");
  data_ = other.ensure(other.data_);
}

void Blob::share_diff(const Blob& other) {
  require(bytes() == other.bytes(), "blobs that share gradients have equal sizes");
  diff_ = other.ensure(other.diff_);
}

void Blob::read_data(float* host) const { read(data_, host); }
void Blob::read_diff(float* host) const { read(diff_, host); }
void Blob::write_data(const float* host) { write(data_, host); }
void Blob::write_diff(const float* host) { write(diff_, host); }

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
  if (count_ > 0) group_->zero(ensure(diff_)->data, static_cast<std::size_t>(bytes()));
}

void Blob::clear_diff() { made(diff_)->awaits_zeros = count_ > 0; }

Blob::Sum Blob::sum_diff() {
  Storage& memory = *made(diff_);
  const bool sets = memory.awaits_zeros;
  memory.awaits_zeros = false;
  if (sets && memory.count > count_)
    group_->zero(memory.data + count_, static_cast<std::size_t>(memory.count - count_) * sizeof(float));
  return {mutable_diff(), sets};
}

}  // namespace cortado
