#include "backends/reference/device_group.h"

#include <chrono>
#include <cstring>
#include <new>
#include <vector>

#include "backends/reference/device_addresses.h"
#include "core/base/memory_error.h"

namespace cortado::reference {
namespace {
constexpr std::align_val_t staging_alignment{128};

struct Mark {
  WorkQueue::Clock point;
  double seconds = 0;  ///< when it was passed
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
}  // namespace

DeviceGroup::DeviceGroup(const MachineSpec& spec, int index, int lanes, const Programs& programs, Memory& memory,
                         Haste haste, std::uint64_t seed)
    : spec_(spec),
      index_(index),
      lanes_(lanes),
      programs_(programs),
      haste_(haste),
      seed_(seed),
      cluster_(spec, lanes, programs, memory),
      memory_(memory),
      queue_(haste, seed + static_cast<std::uint64_t>(index)) {}

std::unique_ptr<CoreGroup> DeviceGroup::make_helper() {
  return std::make_unique<DeviceGroup>(spec_, index_, lanes_, programs_, memory_, haste_, seed_);
}

void DeviceGroup::release(void* memory) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  queue_.wait();
  memory_.release(memory);
}

void* DeviceGroup::allocate_staging(std::size_t bytes) {
  void* const memory = ::operator new(bytes, staging_alignment, std::nothrow);
  if (memory == nullptr)
    throw MemoryError("reference processor", "cannot allocate " + megabytes_text(static_cast<double>(bytes)), "");
  return std::memset(memory, 0xFF, bytes);
}

void DeviceGroup::release_staging(void* memory) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  queue_.wait();
  ::operator delete(memory, staging_alignment);
}

Stream DeviceGroup::make_stream() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return Stream{queue_.make_stream()};
}

/// The place of those bytes of device memory. Throws BugError if they are not all of one allocation.
char* DeviceGroup::place_of(const void* p, std::size_t bytes, const std::string& what) const {
  const auto* const first = static_cast<const char*>(p);
  const Area* const area = memory_.find(first);
  if (area == nullptr || !area->holds(first, first + bytes))
    throw BugError(what, "does not lie inside one allocation of the device's memory");
  return area->at(first);
}

void DeviceGroup::copy(void* to, const void* from, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  const std::string what = "a copy of " + std::to_string(bytes) + " bytes";
  char* const target = is_device_address(to) ? place_of(to, bytes, what) : nullptr;
  const char* const source = is_device_address(from) ? place_of(from, bytes, what) : nullptr;
  const Touched::Run reads{static_cast<const char*>(from), static_cast<const char*>(from) + bytes, false};
  const Touched::Run writes{static_cast<const char*>(to), static_cast<const char*>(to) + bytes, true};

  const std::lock_guard<std::mutex> lock(mutex_);
  WorkQueue::Operation operation;
  operation.what = what;
  std::vector<char> seen;  // what host memory holds, unless something that is queued makes it
  if (source == nullptr) {
    if (!queue_.is_due(reads)) seen.assign(reads.begin, reads.end);
    operation.host.push_back(reads);
  }
  if (target == nullptr) {
    if (!queue_.is_due(writes) && !reads.conflicts(writes)) std::memset(to, 0xFF, bytes);
    operation.host.push_back(writes);
  }
  operation.work = [=, seen = std::move(seen)](Touched& touched) {
    if (!seen.empty() && std::memcmp(seen.data(), from, bytes) != 0)
      throw ClusterError(what, "reads host memory that has changed since the copy was queued",
                         "wait before the memory changes");
    std::memmove(target != nullptr ? target : to, source != nullptr ? source : from, bytes);
    if (source != nullptr) touched.add(reads.begin, static_cast<i64>(bytes), false);
    if (target != nullptr) touched.add(writes.begin, static_cast<i64>(bytes), true);
  };
  queue_.add(stream.id, std::move(operation));
}

void DeviceGroup::zero(void* memory, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  const std::string what = "zeroing of " + std::to_string(bytes) + " bytes";
  char* const place = place_of(memory, bytes, what);
  const std::lock_guard<std::mutex> lock(mutex_);
  queue_.add(stream.id, {what,
                         [=](Touched& touched) {
                           std::memset(place, 0, bytes);
                           touched.add(static_cast<const char*>(memory), static_cast<i64>(bytes), true);
                         },
                         {}});
}

void DeviceGroup::wait() {
  const std::lock_guard<std::mutex> lock(mutex_);
  queue_.wait();
  if (const std::exception_ptr failure = queue_.take_failure()) std::rethrow_exception(failure);
}

void DeviceGroup::order(Stream earlier, Stream later) {
  const std::lock_guard<std::mutex> lock(mutex_);
  queue_.order(earlier.id, later.id);
}

CoreGroup::Event DeviceGroup::record(Stream stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto mark = std::make_shared<Mark>();
  queue_.add(stream.id, {"an event", [mark](Touched&) { mark->seconds = now(); }, {}});
  mark->point = queue_.point(stream.id);
  return Event{0, mark};
}

double DeviceGroup::seconds_between(const Event& from, const Event& to) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Mark &first = *static_cast<const Mark*>(from.handle.get()), &last = *static_cast<const Mark*>(to.handle.get());
  queue_.wait(first.point);
  queue_.wait(last.point);
  return last.seconds - first.seconds;
}

void DeviceGroup::run_program(ProgramKey key, const char* label, const void* program, const Plan& plan, Stream stream) {
  const Entry entry = cluster_.find(key, label, plan);
  const auto* const bytes = static_cast<const char*>(program);
  const std::lock_guard<std::mutex> lock(mutex_);
  // Programs hold doubles and pointers, which lie where new has put them.
  const std::shared_ptr<char[]> own(new char[entry.bytes]);
  std::memcpy(own.get(), bytes, entry.bytes);
  const auto run = [=, plan = plan](Touched& touched) {
    cluster_.run(entry, label, own.get(), plan, queue_.streams() > 1 ? &touched : nullptr);
  };
  queue_.add(stream.id, {std::string("program ") + label, run, {}});
}

}  // namespace cortado::reference
