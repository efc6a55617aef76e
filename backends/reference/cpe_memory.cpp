// The part of Cpe that watches memory: bounds, and which line touches what.
#include <algorithm>

#include "backends/reference/cpe.h"

namespace cortado::reference {

bool Region::same(const Region& other) const {
  return first == other.first && rows == other.rows && row_bytes == other.row_bytes &&
         (rows == 1 || pitch == other.pitch);
}

bool Region::overlaps(const Region& other) const {
  for (i64 r = 0; r < rows; ++r)
    for (i64 s = 0; s < other.rows; ++s) {
      const char *mine = first + r * pitch, *theirs = other.first + s * other.pitch;
      if (mine < theirs + other.row_bytes && theirs < mine + row_bytes) return true;
    }
  return false;
}

void Cpe::check_inside(const char* low, const char* high, i64 element, const char* what, const Slot& slot) {
  if (reinterpret_cast<std::uintptr_t>(low) % static_cast<std::uintptr_t>(element) != 0)
    violation(slot, std::string(what) + " is not aligned to its elements");
  const Area* const area = launch_.memory.find(low);
  if (area == nullptr) violation(slot, std::string(what) + " begins outside the memory of the core group");
  if (!area->holds(low, high))
    violation(slot, std::string(what) + " ends " + std::to_string(high - area->first - static_cast<i64>(area->bytes)) +
                        " bytes behind the end of its memory of " + std::to_string(area->bytes) + " bytes");
}

Area& Cpe::area_of(const char* p) {
  if (area_ == nullptr || !area_->holds(p, p + 1)) area_ = launch_.memory.find(p);
  return *area_;
}

bool Cpe::touch(const Region& region, bool write, const Slot& slot) {
  bool again = false;
  for (i64 r = 0; r < region.rows && region.row_bytes > 0; ++r) {
    const char* const row = region.first + r * region.pitch;
    Area& area = area_of(row);
    Word* const words = area.words_of(launch_.record) + (row - area.first) / 4;
    const Touch found =
        (write ? write_words : read_words)(words, region.row_bytes / 4, item().number, launch_.first_item);
    again = again || found.again;
    if (launch_.touched != nullptr) launch_.touched->add(row, region.row_bytes, write);
    if (found.conflict != 0)
      violation(slot, std::string(write ? "writes" : "reads") + " memory (row " + std::to_string(r) + ", byte " +
                          std::to_string(found.word * 4) + " of it) that " + name_of(found.conflict) + " " +
                          (write ? "reads or writes" : "writes") + " too; lines of a launch run in any order");
  }
  return again;
}

void Cpe::touch_run(const char* first, i64 bytes, bool write, const Slot& slot) {
  const Region run{first, 1, bytes, 0};
  if (!touch(run, write, slot)) return;
  for (const Item::Use& other : item().writes) {
    if (!other.region.overlaps(run)) continue;
    if (other.live()) violation(slot, "touches the memory of an output that was not put yet");
    if (!write) violation(slot, rereads);
  }
  if (!write) return;
  for (const Item::Use& other : item().reads)
    if (other.live() && other.region.overlaps(run)) violation(slot, "writes the memory of an input of the same tile");
}

}  // namespace cortado::reference
