#pragma once
#include <vector>

#include "core/base/types.h"

namespace cortado::reference {

/// Which memory an operation reads and writes, as runs of bytes.
class Touched {
 public:
  struct Run {
    const char *begin, *end;
    bool write;
    bool conflicts(const Run& other) const { return (write || other.write) && begin < other.end && other.begin < end; }
  };

  void add(const char* first, i64 bytes, bool write) {
    if (bytes <= 0) return;
    Run& last = last_[write ? 1 : 0];
    if (first >= last.begin && first <= last.end) {  // most lines follow the one before
      last.end = first + bytes > last.end ? first + bytes : last.end;
      return;
    }
    if (last.begin != last.end) runs_.push_back(last);
    last = {first, first + bytes, write};
  }

  /// All of them, joined where they meet; ascending, reads first.
  std::vector<Run> runs() const;

 private:
  Run last_[2] = {{nullptr, nullptr, false}, {nullptr, nullptr, true}};
  std::vector<Run> runs_;
};

}  // namespace cortado::reference
