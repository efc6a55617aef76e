#include "core/formats/close_name.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace cortado {
namespace {
constexpr std::size_t longest_name = 64;

bool same(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

/// Letters that are changed, added, left out, or exchanged with their neighbour (optimal string alignment).
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row.back();
}
}  // namespace

std::string close_name(const std::string& wrong, const std::vector<std::string>& names) {
  std::string best;
  if (wrong.size() > longest_name) return best;
  std::size_t best_distance = std::max<std::size_t>(1, wrong.size() / 4) + 1;  // farther names mean something else
  for (const std::string& name : names) {
    // As many letters at least come or go.
    const std::size_t least = std::max(wrong.size(), name.size()) - std::min(wrong.size(), name.size());
    const std::size_t d = least < best_distance ? distance(wrong, name) : least;
    if (d < best_distance) {
      best = name;
      best_distance = d;
    }
  }
  return best;
}

}  // namespace cortado
