#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/machine/program.h"

namespace cortado {

/// A backend's compiled programs, by program type. Filled by the generated program units (cmake/programs.cmake),
/// one per layer folder and backend; `Entry` is the backend's function that runs a type-erased program.
template <class Entry>
class ProgramTable {
 public:
  void add(ProgramKey key, Entry entry) { entries_[key] = entry; }
  /// The first find() that misses calls `load`, and takes what it returns for more programs. Copies share them.
  void add_later(std::function<ProgramTable()> load) {
    later_ = std::make_shared<Later>();
    later_->load = std::move(load);
  }
  /// Null when the program was not listed for this backend. Threads may call it at the same time. Throws what the
  /// loading of more programs throws.
  Entry find(ProgramKey key) const {
    const auto found = entries_.find(key);
    if (found != entries_.end()) return found->second;
    if (later_ == nullptr) return Entry{};
    std::call_once(later_->once, [this] { later_->more = std::make_unique<ProgramTable>(later_->load()); });
    return later_->more->find(key);
  }

 private:
  struct Later {
    std::once_flag once;
    std::function<ProgramTable()> load;
    std::unique_ptr<const ProgramTable> more;
  };
  std::unordered_map<ProgramKey, Entry> entries_;
  std::shared_ptr<Later> later_;
};

}  // namespace cortado
