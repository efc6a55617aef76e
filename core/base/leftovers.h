#pragma once
#include <string>
#include <vector>

namespace cortado {

/// Files that nobody is to find: its destructor removes them, and so does a signal that ends the process. A path that
/// is not there is passed over, and a folder that is not empty stays.
class Leftovers {
 public:
  /// They go in this order, so a folder stands behind what lies in it.
  explicit Leftovers(std::vector<std::string> paths);
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;
  ~Leftovers();
  /// Removes those of all objects. A signal handler may call it.
  static void remove_all() noexcept;

 private:
  void remove() const noexcept;
  const std::vector<std::string> paths_;
};

}  // namespace cortado
