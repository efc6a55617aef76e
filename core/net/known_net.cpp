#include "core/net/known_net.h"

#include <set>

#include "core/base/log.h"
#include "core/base/mistakes.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/close_name.h"
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

namespace {
std::set<std::string> stages_of(const caffe::NetParameter& net) {
  std::set<std::string> stages;
  for (const auto& layer : net.layer())
    for (const auto* rules : {&layer.include(), &layer.exclude()})
      for (const auto& rule : *rules)
        for (const auto* named : {&rule.stage(), &rule.not_stage()}) stages.insert(named->begin(), named->end());
  return stages;
}
}  // namespace

void warn_of_unknown_stages(const caffe::NetParameter& net) {
  const std::set<std::string> known = stages_of(net);
  for (const auto& stage : net.state().stage()) {
    if (known.count(stage) > 0) continue;
    const std::string close = close_name(stage, {known.begin(), known.end()});
    CORTADO_LOG(warning) << "net '" << net.name() << "': no layer has a rule for the stage '" << stage << "'"
                         << (close.empty() ? "" : " (did you mean '" + close + "'?)");
  }
}

std::string other_stages(const caffe::NetParameter& net) {
  std::set<std::string> stages = stages_of(net);
  for (const auto& given : net.state().stage()) stages.erase(given);
  std::string text;
  for (const auto& stage : stages) text += (text.empty() ? "" : ", ") + stage;
  return text;
}

}  // namespace cortado
