#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/base/types.h"

namespace cortado::reference {

/// The items that touched a 4-byte word of memory (numbers, see Cpe): the last that wrote it and two different ones
/// that read it. Numbers below the first of a launch belong to earlier launches and count as nobody. Two readers are
/// enough to know whether anyone but a given item has read the word.
struct Word {
  std::uint32_t writer = 0, reader = 0, other_reader = 0;
};

/// The result of touching words: an item that must not touch the same ones (0: none), and whether the item itself had
/// touched one of them the other way (read what it writes, written what it reads or writes).
struct Touch {
  std::uint32_t conflict = 0;
  i64 word = 0;  ///< the first in conflict
  bool again = false;
};

Touch read_words(Word* words, i64 count, std::uint32_t item, std::uint32_t first_item);
Touch write_words(Word* words, i64 count, std::uint32_t item, std::uint32_t first_item);

/// One allocation. Clusters run at the same time, so each has its own record of the words.
struct Area {
  char* first = nullptr;   ///< its address for programs and copies
  char* values = nullptr;  ///< where its bytes lie: at `first`, unless the memory is a device's
  std::size_t bytes = 0;
  std::vector<std::unique_ptr<Word[]>> words;  ///< by record; made by its first launch that touches the area

  bool holds(const char* begin, const char* end) const { return begin >= first && end <= first + bytes; }
  char* at(const char* p) const { return values + (p - first); }  ///< where that byte lies
  Word* words_of(int record);
};

/// The memory of a reference processor. Pointers of programs must lie inside of it. That of a device has addresses that
/// only copies and programs translate: host code that follows one ends with a message (device_addresses.h).
class Memory {
 public:
  explicit Memory(bool is_device) : is_device_(is_device) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  /// Filled with ones: floats that nobody wrote are NaN.
  void* allocate(std::size_t bytes);
  void release(void* memory) noexcept;

  /// The area that `p` points into, or null. Stays valid until it is released.
  Area* find(const void* p);

  /// The number of a new record of words, for a cluster that runs beside others. Throws BugError if all are taken.
  int begin_record();
  void end_record(int record) noexcept;
  /// Drops what the record holds, so that item numbers can start again.
  void forget(int record);

 private:
  static constexpr std::size_t records = 64;

  const bool is_device_;
  std::mutex mutex_;
  std::map<const char*, Area> areas_;
  std::vector<bool> taken_ = std::vector<bool>(records);  // by record
};

}  // namespace cortado::reference
