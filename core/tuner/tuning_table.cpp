#include "core/tuner/tuning_table.h"

#include <cstdio>
#include <cstdlib>
#include <set>

#include "core/base/error.h"
#include "core/formats/prototxt.h"
#include "core/formats/tuning.pb.h"

namespace cortado {
namespace {
constexpr int version = 2;  // 1 repeats the machine in every entry

TuningKey key_of(const caffe::CortadoTuningFile::Machine& m) {
  TuningKey key;
  key.backend = m.backend();
  key.processor = m.processor();
  key.build = m.build();
  key.vector_bits = m.vector_bits();
  key.bf16_speed = m.bf16_speed();
  key.core_groups = m.core_groups();
  key.threads = m.threads();
  key.cache_cores = m.cache_cores();
  key.scratch_kib = m.scratch_kib();
  key.cache_kib = m.cache_kib();
  return key;
}

void store(const TuningKey& key, caffe::CortadoTuningFile::Machine& m) {
  m.set_backend(key.backend);
  m.set_processor(key.processor);
  m.set_build(key.build);
  if (key.vector_bits > 0) m.set_vector_bits(key.vector_bits);
  if (key.bf16_speed > 0) m.set_bf16_speed(key.bf16_speed);
  if (key.core_groups > 0) m.set_core_groups(key.core_groups);
  if (key.threads > 0) m.set_threads(key.threads);
  if (key.cache_cores > 0) m.set_cache_cores(key.cache_cores);
  if (key.scratch_kib > 0) m.set_scratch_kib(key.scratch_kib);
  if (key.cache_kib > 0) m.set_cache_kib(key.cache_kib);
}

/// Four digits: more would be noise.
double milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", 1e3 * seconds);
  return std::strtod(text, nullptr);
}

std::string list(const std::set<std::string>& names, const char* between) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
  return text;
}
}  // namespace

TuningTable::TuningTable(TuningKey own) : own_(std::move(own)) {}

void TuningTable::set(const PlanOption& option, double seconds) {
  entries_[{option.direction, option.shape}][own_] = {option.candidate, seconds, ""};
}

void TuningTable::read(const std::string& file) {
  caffe::CortadoTuningFile tuning;
  read_text(file, tuning);
  if (tuning.version() < 1 || tuning.version() > version)
    throw ConfigError(file,
                      "is a tuning file of version " + std::to_string(tuning.version()) +
                          ", this reads up to version " + std::to_string(version),
                      "make a new one with cortado tune");
  add(tuning, file);
  files_.push_back(file);
}

void TuningTable::add(const caffe::CortadoTuningFile& tuning, const std::string& file) {
  for (const auto& e : tuning.entry())
    entries_[{e.direction(), e.shape()}][{e.backend(), e.machine(), e.build()}] = {e.candidate(), e.seconds(), file};
  for (const auto& machine : tuning.machine()) {
    const TuningKey key = key_of(machine);
    for (const auto& work : machine.work())
      for (const auto& best : work.best())
        entries_[{best.direction(), work.shape()}][key] = {best.plan(), best.ms() / 1e3, file};
  }
}

caffe::CortadoTuningFile TuningTable::message() const {
  std::map<TuningKey, std::map<std::string, std::map<std::string, const Best*>>> sorted;  // by shape, by direction
  for (const auto& [work, measured] : entries_)
    for (const auto& [key, best] : measured) sorted[key][work.second][work.first] = &best;
  caffe::CortadoTuningFile tuning;
  tuning.set_version(version);
  for (const auto& [key, shapes] : sorted) {
    auto& machine = *tuning.add_machine();
    store(key, machine);
    for (const auto& [shape, directions] : shapes) {
      auto& work = *machine.add_work();
      work.set_shape(shape);
      for (const auto& [direction, best] : directions) {
        auto& b = *work.add_best();
        b.set_direction(direction);
        b.set_plan(best->candidate);
        b.set_ms(milliseconds(best->seconds));
      }
    }
  }
  return tuning;
}

void TuningTable::write(const std::string& file) const { write_text(file, message()); }

void TuningTable::take_from_root(const Replicas& replicas) {
  if (replicas.size() == 1) return;
  caffe::CortadoTuningFile tuning, key;
  if (replicas.rank() == 0) {
    tuning = message();
    store(own_, *key.add_machine());
  }
  const std::string entries = replicas.from_root(tuning.SerializeAsString()),
                    own = replicas.from_root(key.SerializeAsString());
  if (replicas.rank() == 0) return;
  require(tuning.ParseFromString(entries) && key.ParseFromString(own) && key.machine_size() == 1,
          "rank 0 sent its tuning table");
  own_ = key_of(key.machine(0));
  entries_.clear();
  files_.clear();
  add(tuning, "rank 0's files");
  if (!entries_.empty()) files_.emplace_back("rank 0's files");
}

/// Plans divide work for a number of threads. With four times as many, most would be idle by some of them.
static constexpr double most_doublings = 2;

template <class Accepts>
TuningTable::Found TuningTable::nearest(const Measured& measured, const Accepts& accepts) const {
  Found found;
  for (const auto& [key, best] : measured) {
    if (key.backend != own_.backend || !accepts(best.candidate)) continue;
    const TuningKey::Distance distance = own_.distance(key);
    if (distance[TuningKey::threads_apart] > most_doublings) continue;
    if (found.best == nullptr || distance < found.distance) found = {&key, &best, distance};
  }
  return found;
}

std::map<std::string, Layout> TuningTable::layouts() const {
  const auto is_layout = [](const std::string& name) {
    return name == to_string(Layout::nchw16c) || name == to_string(Layout::nchw);
  };
  std::map<std::string, Layout> layouts;
  for (const auto& [work, measured] : entries_) {
    if (work.first != layout_direction) continue;
    const Found found = nearest(measured, is_layout);
    if (found.best != nullptr)
      layouts[work.second] = found.best->candidate == to_string(Layout::nchw16c) ? Layout::nchw16c : Layout::nchw;
  }
  return layouts;
}

std::map<std::string, TuningTable::Found> TuningTable::found_for(const std::vector<PlanOption>& options) const {
  std::map<Work, std::set<std::string>> accepted;
  for (const PlanOption& option : options)
    if (option.refused.empty()) accepted[{option.direction, option.shape}].insert(option.candidate);
  std::map<std::string, Found> all;
  for (const auto& [work, candidates] : accepted) {
    const auto measured = entries_.find(work);
    if (measured == entries_.end()) continue;
    const auto& can = candidates;
    const Found found = nearest(measured->second, [&](const std::string& name) { return can.count(name) != 0; });
    if (found.best == nullptr) continue;
    const auto there = all.find(work.first);
    if (there == all.end() || found.distance < there->second.distance) all[work.first] = found;
  }
  return all;
}

PlanBook TuningTable::plans_for(const Net& net) const {
  PlanBook plans;
  for (const auto& entry : net.layers())
    for (const auto& [direction, found] : found_for(entry.layer->plan_options()))
      plans[entry.layer->name() + "/" + direction] = found.best->candidate;
  return plans;
}

TuningTable::Coverage TuningTable::cover(const Net& net) const {
  Coverage of;
  std::set<std::string> used, differences;
  for (const auto& entry : net.layers()) {
    const auto options = entry.layer->plan_options();
    if (options.empty()) continue;
    ++of.with_choice;
    const auto all = found_for(options);
    bool differs = false;
    for (const auto& [direction, found] : all) {
      used.insert(found.best->file.empty() ? "this run" : found.best->file);
      const std::string difference = own_.differences(*found.key);
      if (difference.empty()) continue;
      differs = true;
      differences.insert(difference);
    }
    of.covered += all.empty() ? 0 : 1;
    of.elsewhere += differs ? 1 : 0;
  }
  of.text = "tuning: " + std::to_string(of.covered) + " of " + std::to_string(of.with_choice) + " layers";
  if (of.covered > 0) of.text += " from " + list(used, ", ");
  if (of.elsewhere > 0)
    of.text += "; " + std::to_string(of.elsewhere) + " as measured on the nearest machine: " + list(differences, "; ");
  if (of.covered > 0 || of.with_choice == 0) return of;
  of.text +=
      (files_.empty() ? "; no tuning file here"
                      : "; " + list({files_.begin(), files_.end()}, ", ") + " has none for this backend and batch") +
      std::string(" (cortado tune makes one)");
  return of;
}

}  // namespace cortado
