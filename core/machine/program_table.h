#pragma once
#include <unordered_map>

#include "core/machine/program.h"

namespace cortado {

/// A backend's compiled programs, by program type. Filled by the generated program units (cmake/programs.cmake),
/// one per layer folder and backend; `Entry` is the backend's function that runs a type-erased program.
template <class Entry>
class ProgramTable {
 public:
  void add(ProgramKey key, Entry entry) { entries_[key] = entry; }
  /// Null when the program was not listed for this backend.
  Entry find(ProgramKey key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? Entry{} : found->second;
  }

 private:
  std::unordered_map<ProgramKey, Entry> entries_;
};

}  // namespace cortado
