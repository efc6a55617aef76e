#include "app/bench/bench.h"

#include <spdlog/fmt/fmt.h>

#include "app/measure/net_sets.h"
#include "app/start/start_fields.h"
#include "core/base/error.h"

namespace cortado {
namespace {
/// Ranks compare the nets; names of other things, such as published lists, are compared as texts.
void compare_sets(const std::vector<std::string>& sets, StartFields& fields) {
  for (const auto& set : sets) {
    caffe::NetParameter net;
    try {
      read_set(set, 0, net);
    } catch (const Error&) {
      fields.push_back({"--set", "--set " + set, set});
      continue;
    }
    add_net(net, "--set " + set + ": ", fields);
  }
}
}  // namespace

void Bench::add_to(Flags& flags) {
  add_json(flags, json_);
  session_.core_groups = 0;
  session_.add_devices(flags);
  session_.add_simulator(flags);
  add_own(flags);
}

int Bench::run(const MpiJob& job) {
  Session session(job, session_);
  measure(session);
  return 0;
}

void Bench::show(const Session& session, const Report& report, const std::string& below) const {
  cortado::show(report, session.job, below, json_);
}

void SetFlags::add_to(Flags& flags) {
  std::string names;
  for (const auto& set : sets) names += (names.empty() ? "" : ",") + set;
  flags.add("--set", sets, "Folders of models/ or net prototxts, separated by commas; default " + names)
      .compared_by([this](StartFields& fields) { compare_sets(sets, fields); });
  flags.add("--batch", batch, "Images; default is the set's own").positive();
}

void add_one_set(Flags& flags, std::string& set, const std::string& what) {
  flags.add("--set", set, what).compared_by([&set](StartFields& fields) { compare_sets({set}, fields); });
}

nlohmann::json bench_options(const std::string& kind, const SetFlags& sets, const Limits& limits,
                             const std::string& plan) {
  return {{"bench", kind},
          {"sets", sets.sets},
          {"batch", sets.batch},
          {"plan", plan},
          {"limit_gflops", limits.flops / 1e9},
          {"limit_gbytes_per_s", limits.bandwidth / 1e9}};
}

std::string to_string(const Limits& limits) {
  return fmt::format("{:.1f} Gflop/s, {:.1f} GB/s", limits.flops / 1e9, limits.bandwidth / 1e9);
}

}  // namespace cortado
