#include "backends/reference/memory.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "backends/reference/device_addresses.h"
#include "core/base/memory_error.h"

namespace cortado::reference {
namespace {
constexpr std::align_val_t area_alignment{128};
}  // namespace

Touch read_words(Word* words, i64 count, std::uint32_t item, std::uint32_t first_item) {
  Touch touch;
  for (i64 i = 0; i < count; ++i) {
    Word& w = words[i];
    if (w.writer == item) {
      touch.again = true;
    } else if (w.writer >= first_item && touch.conflict == 0) {
      touch.conflict = w.writer;
      touch.word = i;
    }
    if (w.reader < first_item) {
      w.reader = item;
      w.other_reader = 0;
    } else if (w.reader != item && w.other_reader < first_item) {
      w.other_reader = item;
    }
  }
  return touch;
}

Touch write_words(Word* words, i64 count, std::uint32_t item, std::uint32_t first_item) {
  Touch touch;
  for (i64 i = 0; i < count; ++i) {
    Word& w = words[i];
    for (const std::uint32_t other : {w.writer, w.reader, w.other_reader}) {
      if (other == item) {
        touch.again = true;
      } else if (other >= first_item && touch.conflict == 0) {
        touch.conflict = other;
        touch.word = i;
      }
    }
    w.writer = item;
  }
  return touch;
}

Word* Area::words_of(int record) {
  auto& mine = words[static_cast<std::size_t>(record)];
  if (!mine) mine = std::make_unique<Word[]>((bytes + 3) / 4);
  return mine.get();
}

Memory::~Memory() {
  for (auto& entry : areas_) ::operator delete(entry.second.values, area_alignment);
}

void* Memory::allocate(std::size_t bytes) {
  Area area;
  area.values = static_cast<char*>(::operator new(bytes, area_alignment, std::nothrow));
  if (area.values == nullptr)
    throw MemoryError("reference processor", "cannot allocate " + megabytes_text(static_cast<double>(bytes)),
                      "use a smaller batch");
  area.first = is_device_ ? device_addresses(bytes) : area.values;
  area.bytes = bytes;
  area.words.resize(records);
  std::memset(area.values, 0xFF, bytes);
  char* const first = area.first;
  const std::lock_guard<std::mutex> lock(mutex_);
  areas_[first] = std::move(area);
  return first;
}

void Memory::release(void* memory) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = areas_.find(static_cast<const char*>(memory));
  if (found == areas_.end()) return;
  ::operator delete(found->second.values, area_alignment);
  areas_.erase(found);
}

Area* Memory::find(const void* p) {
  const auto* const at = static_cast<const char*>(p);
  const std::lock_guard<std::mutex> lock(mutex_);
  auto above = areas_.upper_bound(at);
  if (above == areas_.begin()) return nullptr;
  Area& area = std::prev(above)->second;
  return at < area.first + area.bytes ? &area : nullptr;
}

int Memory::begin_record() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto free = std::find(taken_.begin(), taken_.end(), false);
  if (free == taken_.end())
    throw BugError("reference processor", "has no record left for a cluster of " + std::to_string(records));
  *free = true;
  return static_cast<int>(free - taken_.begin());
}

void Memory::end_record(int record) noexcept {
  forget(record);
  const std::lock_guard<std::mutex> lock(mutex_);
  taken_[static_cast<std::size_t>(record)] = false;
}

void Memory::forget(int record) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& entry : areas_) entry.second.words[static_cast<std::size_t>(record)].reset();
}

}  // namespace cortado::reference
