#include "app/plan_text.h"

#include <algorithm>

#include "core/base/printable.h"

namespace cortado {

std::string plans_of(const Layer& layer) {
  std::string text;
  for (const auto& [direction, candidate] : layer.plans())
    text += (text.empty() ? "" : ", ") + direction + ": " + candidate;
  return text;
}

std::string reasons_of(const Net& net) {
  std::size_t width = 0;
  for (const auto& entry : net.layers())
    if (!entry.layer->refusals().empty()) width = std::max(width, printable(entry.layer->name()).size());
  std::string text;
  for (const auto& entry : net.layers()) {
    std::string name = printable(entry.layer->name());
    for (const auto& reason : entry.layer->refusals()) {
      // A variant that this backend has no code of its own for is another's name, no plan.
      if (reason.find(" cannot run: does what ") != std::string::npos) continue;
      text += name + std::string(width + 2 - name.size(), ' ') + reason + "\n";
      name.clear();
    }
  }
  return text;
}

}  // namespace cortado
