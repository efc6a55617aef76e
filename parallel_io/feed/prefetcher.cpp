#include "parallel_io/feed/prefetcher.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/memory_error.h"
#include "core/machine/free_memory.h"

namespace cortado {
namespace {
double seconds(std::chrono::steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

/// Decoding images takes cores; copying values does not need more than one.
int helpers_for(const DataSet& set) {
  const bool encoded = std::any_of(set.fields().begin(), set.fields().end(),
                                   [](const DataSet::Field& field) { return field.stored == Stored::encoded; });
  return encoded ? std::min(process_cpus() / 4, 7) : 0;
}

/// The ring is asked for piece by piece, and systems promise memory that they do not have: it is held against what is
/// free before anything is.
void expect_memory(const BatchRequest& request, const std::vector<Shape>& samples) {
  constexpr double overhead = 1024;  // of a place in the ring, about
  double batch = overhead;
  for (const Shape& shape : samples) {
    double bytes = sizeof(float) * static_cast<double>(request.batch);
    for (const i64 d : shape) bytes *= static_cast<double>(d);
    batch += bytes;
  }
  const double left = static_cast<double>(free_host_memory()),
               places = static_cast<double>(request.prefetch) + Prefetcher::batches_in_use;
  if (places * batch <= left) return;
  const auto fitting = static_cast<i64>(left / batch) - Prefetcher::batches_in_use;
  throw MemoryError(request.source,
                    "reading " + std::to_string(request.prefetch) + " batches ahead takes " +
                        megabytes_text(places * batch) + ", " + megabytes_text(batch) + " a batch of " +
                        std::to_string(request.batch) + " samples; " + megabytes_text(left) + " are free",
                    fitting < 1    ? "give a smaller batch_size"
                    : fitting == 1 ? "give prefetch: 1, the least there is, or a smaller batch_size"
                                   : "give a prefetch from 1 to " + std::to_string(fitting) + ", better far less");
}
}  // namespace

Prefetcher::Makers Prefetcher::transformers_of(const DataSet& set, const BatchRequest& request) {
  Makers makers;
  for (const auto& field : set.fields())
    makers.push_back(
        std::make_unique<Transformer>(field, request, request.kind != BatchRequest::Kind::hdf5 && makers.empty()));
  return makers;
}

Prefetcher::Prefetcher(std::unique_ptr<DataSet> set, const BatchRequest& request, CoreGroup& group, Timeline* timeline,
                       Makers makers)
    : group_(group),
      set_(std::move(set)),
      batch_(request.batch),
      skip_(request.skip),
      order_(set_->samples(), request.order, request.seed, request.block > 0 ? request.block : request.batch),
      makers_(makers.empty() ? transformers_of(*set_, request) : std::move(makers)),
      timeline_(timeline),
      lane_("reader of core group " + std::to_string(group.index()) + ", " + request.source),
      workers_(helpers_for(*set_)) {
  for (const auto& maker : makers_) shapes_.push_back(maker->sample_shape());
  expect_memory(request, shapes_);
  indices_.resize(static_cast<std::size_t>(request.batch));
  statistics_.depth = static_cast<int>(std::max<i64>(1, request.prefetch));
  for (int i = 0; i < statistics_.depth + batches_in_use; ++i) {
    auto slot = std::make_unique<Slot>();
    for (const Shape& shape : shapes_) slot->rooms.push_back(Storage::make_staging(group, batch_ * count_of(shape)));
    slot->fields = slot->rooms;
    slot->shapes = shapes_;
    pool_->free.push_back(std::move(slot));
  }
  reader_ = std::thread([this] { read_ahead(); });
}

Prefetcher::~Prefetcher() {
  {
    const std::lock_guard<std::mutex> lock(pool_->mutex);
    stopping_ = true;
  }
  pool_->changed.notify_all();
  reader_.join();
}

void Prefetcher::read_ahead() {
  run_on_all_cpus();
  std::unique_lock<std::mutex> lock(pool_->mutex);
  while (true) {
    pool_->changed.wait(lock, [&] {
      const bool room = static_cast<int>(ready_.size()) < statistics_.depth;
      return stopping_ || (next_ >= 0 && room && !pool_->free.empty());
    });
    if (stopping_) return;
    std::unique_ptr<Slot> slot = std::move(pool_->free.back());
    pool_->free.pop_back();
    slot->first = next_;
    slot->failure = nullptr;
    next_ += stride_;
    const i64 generation = generation_;
    lock.unlock();
    try {
      fill(*slot);
    } catch (...) { slot->failure = std::current_exception(); }
    lock.lock();
    if (generation == generation_) {
      ready_.push_back(std::move(slot));
      pool_->changed.notify_all();
    } else {
      pool_->free.push_back(std::move(slot));
    }
  }
}

void Prefetcher::fill(Slot& slot) {
  const auto begin = Clock::now();
  for (i64 i = 0; i < batch_; ++i) indices_[static_cast<std::size_t>(i)] = order_(skip_ + slot.first + i);
  set_->read(indices_.data(), batch_, values_);
  const auto read = Clock::now();
  for (std::size_t f = 0; f < makers_.size(); ++f) prepare(f, slot);
  const auto prepared = Clock::now();
  const std::lock_guard<std::mutex> lock(pool_->mutex);
  for (const Values& values : values_) statistics_.bytes += static_cast<i64>(values.bytes.size());
  statistics_.reading += seconds(read - begin);
  statistics_.preparing += seconds(prepared - read);
  if (timeline_ == nullptr) return;
  const std::string name = std::to_string(ready_.size()) + " of " + std::to_string(statistics_.depth) + " ready";
  timeline_->add(lane_, name, "reading", begin, read);
  timeline_->add(lane_, name, "decoding and transforming", read, prepared);
}

void Prefetcher::prepare(std::size_t field, Slot& slot) {
  const Values& values = values_[field];
  const i64 fixed = set_->fields()[field].sample_bytes();
  workers_.for_each(batch_, [&](i64 i) {
    const auto at = static_cast<std::size_t>(i);
    const i64 begin = values.begin.empty() ? i * fixed : values.begin[at];
    const i64 count = values.begin.empty() ? fixed : values.begin[at + 1] - begin;
    (*makers_[field])(
        {values.bytes.data() + begin, count, skip_ + slot.first + i,
         values.shapes.empty() ? nullptr : &values.shapes[at]},
        [&] { return set_->where(indices_[at]); }, [&](const Shape& shape) { return room_for(shape, field, i, slot); });
  });
}

/// The room of the sample in the batch.
float* Prefetcher::room_for(const Shape& shape, std::size_t field, i64 sample, Slot& slot) {
  if (batch_ > 1 && shape != shapes_[field])
    throw FileError(set_->where(indices_[static_cast<std::size_t>(sample)]),
                    "has shape " + to_string(shape) + ", the first sample has " + to_string(shapes_[field]) +
                        "; those of a batch must have one shape",
                    "say batch_size: 1, give crop_size, or resize (new_height and new_width, or when converting)");
  if (batch_ == 1) {
    const i64 floats = count_of(shape);
    auto& room = slot.rooms[field];
    if (room->count < floats) room = Storage::make_staging(group_, floats);
    slot.fields[field] = room->count == floats ? room : Storage::range(room, 0, floats);
    slot.shapes[field] = shape;
  }
  return slot.fields[field]->data + sample * count_of(shapes_[field]);
}

/// Makes sure that the batch at `first` is ready, being read, or the next to be read. Needs the lock.
void Prefetcher::expect(i64 first, i64 stride) {
  if (first == expected_) return;
  if (last_ < 0)
    stride_ = stride;
  else if (first > last_)
    stride_ = first - last_;
  for (auto& slot : ready_) pool_->free.push_back(std::move(slot));
  ready_.clear();
  ++generation_;
  next_ = expected_ = first;
  pool_->changed.notify_all();
}

/// The batch in front. Needs the lock.
std::shared_ptr<const Batch> Prefetcher::take_ready() {
  std::unique_ptr<Slot> slot = std::move(ready_.front());
  ready_.pop_front();
  if (slot->failure) {
    const std::exception_ptr failure = slot->failure;
    pool_->free.push_back(std::move(slot));
    expected_ = -1;
    std::rethrow_exception(failure);
  }
  ++statistics_.batches;
  last_ = slot->first;
  expected_ = last_ + stride_;
  pool_->changed.notify_all();
  return {slot.release(), [pool = pool_](Slot* used) {
            const std::lock_guard<std::mutex> lock(pool->mutex);
            pool->free.emplace_back(used);
            pool->changed.notify_all();
          }};
}

std::shared_ptr<const Batch> Prefetcher::take(i64 first, i64 stride) {
  std::unique_lock<std::mutex> lock(pool_->mutex);
  expect(first, stride);
  const bool counts = statistics_.batches > 0;
  if (counts) statistics_.ready += static_cast<double>(ready_.size());
  const auto begin = Clock::now();
  pool_->changed.wait(lock, [&] { return !ready_.empty(); });
  if (counts) statistics_.stalled += seconds(Clock::now() - begin);
  return take_ready();
}

std::shared_ptr<const Batch> Prefetcher::take_if_ready() {
  const std::lock_guard<std::mutex> lock(pool_->mutex);
  return ready_.empty() ? nullptr : take_ready();
}

BatchSource::Statistics Prefetcher::statistics() const {
  const std::lock_guard<std::mutex> lock(pool_->mutex);
  Statistics result = statistics_;
  if (result.batches > 1) result.ready /= static_cast<double>(result.batches - 1);
  return result;
}

}  // namespace cortado
