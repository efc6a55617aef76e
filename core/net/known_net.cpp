#include "core/net/known_net.h"

#include <algorithm>
#include <set>

#include "core/base/mistakes.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"

namespace cortado {

void read_known_net(const std::string& file, caffe::NetParameter& net, const LayerTable& layers) {
  try {
    read_net(file, net);
  } catch (const ConfigError& error) {  // what could be parsed is there
    const std::string unknown = layers.unknown_in(net);
    if (unknown.empty()) throw;
    std::vector<std::string> lines = lines_of(error);
    for (const auto& line : lines_in(unknown)) lines.push_back(line);
    throw Mistakes(lines);
  }
}

std::string other_stages(const caffe::NetParameter& net) {
  std::set<std::string> stages;
  const auto& given = net.state().stage();
  for (const auto& layer : net.layer())
    for (const auto* rules : {&layer.include(), &layer.exclude()})
      for (const auto& rule : *rules)
        for (const auto* named : {&rule.stage(), &rule.not_stage()})
          for (const auto& stage : *named)
            if (std::find(given.begin(), given.end(), stage) == given.end()) stages.insert(stage);
  std::string text;
  for (const auto& stage : stages) text += (text.empty() ? "" : ", ") + stage;
  return text;
}

}  // namespace cortado
