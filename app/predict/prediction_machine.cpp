#include "app/predict/prediction_machine.h"

#include <set>

#include "app/predict/json_lines.h"
#include "core/base/error.h"
#include "core/base/file.h"

namespace cortado {
namespace {
using nlohmann::json;

/// An object of the file, whose fields are asked for by name; those that nobody asked for are mistakes.
class JsonFields {
 public:
  using Lines = std::map<std::string, int>;
  /// `lines` outlives this.
  JsonFields(std::string file, const Lines& lines, std::string path, const json& object)
      : file_(std::move(file)), lines_(lines), path_(std::move(path)), object_(object) {
    if (!object.is_object()) bad("", "is no object {...}");
  }

  bool has(const std::string& name) {
    asked_.insert(name);
    return object_.contains(name);
  }
  JsonFields object(const std::string& name) { return {file_, lines_, path_of(name) + ".", value(name)}; }
  std::string text(const std::string& name) {
    if (!value(name).is_string()) bad(name, "is no text");
    return value(name);
  }
  /// Not below 0; or above it.
  double number(const std::string& name, bool positive = false) { return checked(name, value(name), positive); }
  double number_or(const std::string& name, double otherwise, bool positive = false) {
    return has(name) ? number(name, positive) : otherwise;
  }
  i64 count(const std::string& name) {
    const double n = number(name, true);
    if (!value(name).is_number_integer()) bad(name, "is no whole number");
    return static_cast<i64>(n);
  }
  /// A number, or [[bytes, number], ...] with growing bytes.
  std::vector<Link::Point> curve(const std::string& name, double unit) {
    if (value(name).is_number()) return {{0, unit * number(name)}};
    if (!value(name).is_array()) bad(name, "is neither a number nor a list of [bytes, time]");
    std::vector<Link::Point> points;
    for (const json& point : value(name)) {
      if (!point.is_array() || point.size() != 2) bad(name, "has a point that is not [bytes, time]");
      points.push_back({checked(name, point[0], false), unit * checked(name, point[1], false)});
      if (points.size() > 1 && points[points.size() - 2].bytes >= points.back().bytes)
        bad(name, "has points whose bytes do not grow");
    }
    return points;
  }
  [[noreturn]] void bad(const std::string& name, const std::string& what, const std::string& advice = "") const {
    std::string path = path_of(name);
    if (name.empty() && !path.empty()) path.pop_back();
    auto line = lines_.find(path);
    if (line == lines_.end() && !path_.empty()) line = lines_.find(path_.substr(0, path_.size() - 1));  // it is missing
    const std::string at = line == lines_.end() ? "" : ":" + std::to_string(line->second);
    throw ConfigError(file_ + at + (path.empty() ? "" : ", field '" + path + "'"), what,
                      advice.empty() ? "docs/use/prediction.md lists the fields" : advice);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& item : object_.items()) all.push_back(item.key());
    return all;
  }
  void refuse_others() const {
    for (const auto& name : names())
      if (asked_.count(name) == 0) {
        std::string known;
        for (const auto& one : asked_) known += (known.empty() ? "" : ", ") + one;
        bad(name, "is not known", "there are: " + known);
      }
  }

 private:
  std::string path_of(const std::string& name) const { return path_ + name; }
  const json& value(const std::string& name) {
    if (!has(name)) bad(name, "is missing");
    return object_.at(name);
  }
  double checked(const std::string& name, const json& value, bool positive) const {
    if (!value.is_number()) bad(name, "is no number");
    const double number = value;
    if (number < 0 || (positive && number == 0)) bad(name, positive ? "is not above 0" : "is below 0");
    return number;
  }

  const std::string file_;
  const Lines& lines_;
  const std::string path_;
  const json& object_;
  std::set<std::string> asked_;
};

Link link_of(JsonFields from) {
  Link link;
  link.bandwidth = 1e9 * from.number("gbytes_per_s", true);
  if (from.has("latency_us")) link.latency = from.curve("latency_us", 1e-6);
  from.refuse_others();
  return link;
}

PredictionMachine::Compute compute_of(JsonFields from) {
  PredictionMachine::Compute compute;
  compute.batch = from.count("batch");
  compute.iteration = 1e-3 * from.number_or("iteration_ms", 0, true);
  JsonFields layers = from.object("layers");
  double sum = 0;
  for (const auto& name : layers.names()) {
    JsonFields times = layers.object(name);
    LayerWork& layer = compute.layers[name];
    layer.forward = 1e-3 * times.number("forward_ms");
    layer.backward = 1e-3 * times.number("backward_ms");
    layer.update = 1e-3 * times.number_or("update_ms", 0);
    times.refuse_others();
    sum += layer.seconds();
  }
  if (compute.iteration == 0) compute.iteration = sum;
  if (compute.iteration < 0.999 * sum) from.bad("iteration_ms", "is less than its layers take together");
  from.refuse_others();
  return compute;
}

PredictionMachine machine_of(JsonFields from) {
  PredictionMachine machine;
  machine.links.name = from.has("name") ? from.text("name") : "";
  machine.links.devices_per_node = static_cast<int>(from.count("devices_per_node"));
  machine.links.switch_messages = from.number_or("switch_messages", 0);
  if (from.has("inside") || machine.links.devices_per_node > 1) machine.links.inside = link_of(from.object("inside"));
  machine.has_network = from.has("across");
  if (machine.has_network) machine.links.across = link_of(from.object("across"));
  machine.encode = 1e-9 * from.number_or("encode_ns", 0);
  machine.decode = 1e-9 * from.number_or("decode_ns", 0);
  machine.divided_efficiency = from.number_or("divided_efficiency", 1, true);
  if (from.has("compute")) machine.compute = compute_of(from.object("compute"));
  from.refuse_others();
  return machine;
}

}  // namespace

PredictionMachine read_prediction_machine(const std::string& file) {
  const JsonWithLines all = parse_with_lines(read_file(file), file);
  return machine_of(JsonFields(file, all.lines, "", all.value));
}

void take_times(const std::string& file, const PredictionMachine::Compute& from, Work& work) {
  std::set<std::string> used;
  for (LayerWork& layer : work.layers) {
    const auto found = from.layers.find(layer.name);
    if (found != from.layers.end()) {
      used.insert(layer.name);
      layer.forward = found->second.forward;
      layer.backward = found->second.backward;
      layer.update = found->second.update;
    } else if (layer.parameters > 0) {
      throw ConfigError(file + ", field 'compute.layers'", "lacks layer '" + layer.name + "' of the net",
                        "give its times, or leave compute out to measure all");
    }
  }
  for (const auto& layer : from.layers)
    if (used.count(layer.first) == 0)
      throw ConfigError(file + ", field 'compute.layers." + layer.first + "'", "is no layer of the net",
                        "cortado check lists the layers");
  work.batch = from.batch;
  work.iteration = from.iteration;
}

}  // namespace cortado
