#include "app/plan_text.h"

namespace cortado {

std::string plans_of(const Layer& layer) {
  std::string text;
  for (const auto& [direction, candidate] : layer.plans())
    text += (text.empty() ? "" : ", ") + direction + ": " + candidate;
  return text;
}

std::string reasons_of(const Net& net) {
  std::string text;
  for (const auto& entry : net.layers())
    for (const auto& reason : entry.layer->refusals()) text += entry.layer->name() + ": " + reason + "\n";
  return text;
}

}  // namespace cortado
