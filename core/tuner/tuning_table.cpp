#include "core/tuner/tuning_table.h"

#include <set>
#include <tuple>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"

namespace cortado {
namespace {
constexpr int version = 1;
constexpr const char* type = "float";
}  // namespace

bool TuningTable::Key::operator<(const Key& o) const {
  return std::tie(backend, machine, build, shape, type, direction) <
         std::tie(o.backend, o.machine, o.build, o.shape, o.type, o.direction);
}

TuningTable::TuningTable(const MachineSpec& machine, const std::string& build)
    : backend_(machine.name), machine_(machine.description), build_(build) {}

TuningTable::Key TuningTable::key_of(const PlanOption& option) const {
  return {backend_, machine_, build_, option.direction, type, option.shape};
}

void TuningTable::set(const PlanOption& option, double seconds) {
  entries_[key_of(option)] = {option.candidate, seconds, ""};
}

void TuningTable::read(const std::string& file) {
  caffe::CortadoTuning tuning;
  read_text(file, tuning);
  if (tuning.version() != version)
    throw ConfigError(file,
                      "is a tuning file of version " + std::to_string(tuning.version()) + ", this reads version " +
                          std::to_string(version),
                      "make a new one with cortado tune");
  for (const auto& e : tuning.entry())
    entries_[{e.backend(), e.machine(), e.build(), e.direction(), e.type(), e.shape()}] = {e.candidate(), e.seconds(),
                                                                                           file};
  files_.push_back(file);
}

void TuningTable::write(const std::string& file) const {
  caffe::CortadoTuning tuning;
  tuning.set_version(version);
  for (const auto& [key, choice] : entries_) {
    auto& e = *tuning.add_entry();
    e.set_backend(key.backend);
    e.set_machine(key.machine);
    e.set_build(key.build);
    e.set_shape(key.shape);
    e.set_type(key.type);
    e.set_direction(key.direction);
    e.set_candidate(choice.candidate);
    e.set_seconds(choice.seconds);
  }
  write_text(file, tuning);
}

std::map<std::string, Layout> TuningTable::layouts() const {
  std::map<std::string, Layout> layouts;
  for (const auto& [key, choice] : entries_)
    if (key.backend == backend_ && key.machine == machine_ && key.build == build_ && key.direction == layout_direction)
      layouts[key.shape] = choice.candidate == to_string(Layout::nchw16c) ? Layout::nchw16c : Layout::nchw;
  return layouts;
}

const TuningTable::Choice* TuningTable::choice_of(const PlanOption& option) const {
  const auto found = entries_.find(key_of(option));
  const bool holds = found != entries_.end() && found->second.candidate == option.candidate && option.refused.empty();
  return holds ? &found->second : nullptr;
}

PlanBook TuningTable::plans_for(const Net& net) const {
  PlanBook plans;
  for (const auto& entry : net.layers())
    for (const PlanOption& option : entry.layer->plan_options())
      if (choice_of(option) != nullptr) plans[entry.layer->name() + "/" + option.direction] = option.candidate;
  return plans;
}

std::string TuningTable::coverage(const Net& net) const {
  i64 with_choice = 0, covered = 0;
  std::set<std::string> used;
  for (const auto& entry : net.layers()) {
    const auto options = entry.layer->plan_options();
    bool found = false;
    for (const PlanOption& option : options)
      if (const Choice* const choice = choice_of(option)) {
        found = true;
        used.insert(choice->file.empty() ? "this run" : choice->file);
      }
    with_choice += options.empty() ? 0 : 1;
    covered += found ? 1 : 0;
  }
  const auto list = [](const auto& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  };
  std::string text = "tuning: " + std::to_string(covered) + " of " + std::to_string(with_choice) + " layers";
  if (covered > 0) return text + " from " + list(used);
  if (with_choice == 0) return text;
  return text +
         (files_.empty() ? "; no tuning file here"
                         : "; " + list(files_) + " has none for this machine, build and batch") +
         " (cortado tune makes one)";
}

}  // namespace cortado
