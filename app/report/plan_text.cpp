#include "app/report/plan_text.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <vector>

#include "core/base/printable.h"
#include "layers/convolution/candidates.h"

namespace cortado {

std::string plans_of(const Layer& layer) {
  std::string text;
  for (const auto& [direction, candidate] : layer.plans())
    text += (text.empty() ? "" : ", ") + direction + ": " + candidate;
  return text;
}

namespace {
/// The work of the convolution candidates that a text names, a line each.
std::string named_candidates(const std::string& text) {
  std::string lines;
  for (const auto& candidate : convolution_candidates())
    if (text.find(" " + candidate.name + " ") != std::string::npos)
      lines += candidate.name + std::string(24 - std::min<std::size_t>(23, candidate.name.size()), ' ') +
               candidate.what + "\n";
  return lines;
}
}  // namespace

std::string reasons_of(const Net& net) {
  std::size_t width = 0;
  for (const auto& entry : net.layers())
    if (!entry.layer->plans().empty()) width = std::max(width, printable(entry.layer->name()).size());
  std::string text;
  for (const auto& entry : net.layers()) {
    std::string name = printable(entry.layer->name()), before;
    for (const auto& reason : entry.layer->refusals()) {
      // A variant that this backend has no code of its own for is another's name, no plan; nor is what other machines
      // run one here.
      if (reason.find(" cannot run: does what ") != std::string::npos ||
          reason.find(" cannot run: it is a plan for meshes") != std::string::npos)
        continue;
      const std::string problem = reason.substr(0, reason.find(": "));
      if (problem != before) text += name + std::string(width + 2 - name.size(), ' ') + problem + "\n";
      text += std::string(width + 4, ' ') + reason.substr(std::min(problem.size() + 2, reason.size())) + "\n";
      before = problem;
      name.clear();
    }
  }
  const std::string candidates = named_candidates(text);
  return text + (candidates.empty() ? "" : "\n" + candidates);
}

std::string passes_of(const Net& net) {
  std::string text;
  for (const auto& report : net.passes()) {
    std::vector<std::string> lines = report.did;
    if (lines.empty()) lines.push_back(report.is_off ? "off" : "-");
    std::string name = report.pass;
    for (const auto& line : lines) {
      text += fmt::format("{:<17}{}\n", name, printable(line));
      name.clear();
    }
  }
  return text;
}

}  // namespace cortado
