#include "backends/reference/touched.h"

#include <algorithm>

namespace cortado::reference {

std::vector<Touched::Run> Touched::runs() const {
  std::vector<Run> all = runs_;
  for (const Run& last : last_)
    if (last.begin != last.end) all.push_back(last);
  std::sort(all.begin(), all.end(),
            [](const Run& a, const Run& b) { return a.write != b.write ? b.write : a.begin < b.begin; });
  std::vector<Run> joined;
  for (const Run& run : all) {
    if (!joined.empty() && joined.back().write == run.write && run.begin <= joined.back().end)
      joined.back().end = std::max(joined.back().end, run.end);
    else
      joined.push_back(run);
  }
  return joined;
}

}  // namespace cortado::reference
