#include <algorithm>
#include <cstdio>
#include <iostream>

#include "app/report/report.h"
#include "app/session/backend.h"
#include "app/session/session.h"
#include "app/tune/tuning.h"
#include "app/verbs/net_values.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"

namespace cortado {
namespace {

/// Runs the net once on a group, with or without the plans that tuning files name.
std::vector<NetValue> run_on(const Session& session, CoreGroup& group, const Options& options, bool tuned) {
  caffe::NetParameter parameter;
  read_net_for(options, options.model, options.phase == "TEST" ? Phase::test : Phase::train, parameter);
  NetOptions with = session.net_options();
  with.group = &group;
  with.seed = options.compare.seed;
  const TuningTable tuning = tuned ? read_tuning(group.spec(), options.tuning) : empty_tuning(group.spec());
  with.layouts = tuning.layouts();
  Net net(parameter, with);
  net.use_plans(tuning.plans_for(net));
  if (!options.weights.empty()) {
    caffe::NetParameter weights;
    read_weights(options.weights, &session.hdf5, weights);
    net.copy_trained(weights);
  }
  return values_of_pass(net, options.compare.seed);
}

std::vector<NetValue> other_values(const Session& session, const Options& options) {
  const std::string& with = options.compare.with;
  if (with == "plans") return run_on(session, session.group, options, false);
  if (with != "reference") return load_values(with, session.hdf5);
  const auto reference = make_reference_processor();
  return run_on(session, reference->group(0), options, false);
}

void print(const char* lead, const ValueDifference& difference) {
  std::printf("%s %s: %.3g of its largest value, at element %lld: %.9g here, %.9g there\n", lead,
              difference.what.c_str(), difference.relative, static_cast<long long>(difference.element),
              static_cast<double>(difference.here), static_cast<double>(difference.there));
}

void write_rows(const Session& session, const Options& options, const std::vector<ValueDifference>& differences) {
  Report report({}, session.group.spec(),
                {{"model", options.model}, {"with", options.compare.with}, {"tolerance", options.compare.tolerance}});
  for (const auto& d : differences)
    report.add(
        {{"value", d.what}, {"difference", d.relative}, {"element", d.element}, {"here", d.here}, {"there", d.there}});
  report.write_json(options.json);
}

}  // namespace

int compare(Session& session, const Options& options) {
  const auto here = run_on(session, session.group, options, true);
  const auto& c = options.compare;
  if (!c.save.empty()) {
    if (session.job.rank() != 0) return 0;
    save_values(here, c.save, session.hdf5);
    CORTADO_LOG(info) << "Wrote " << here.size() << " values to " << c.save;
    return 0;
  }
  const auto there = other_values(session, options);
  const auto differences = differences_of(here, there);
  if (differences.empty())
    throw ConfigError(c.with, "has no value of " + options.model, "compare one net, in one phase");
  const auto exceeds = [&](const ValueDifference& d) { return d.relative > c.tolerance; };
  const auto first = std::find_if(differences.begin(), differences.end(), exceeds);
  const auto worst =
      std::max_element(differences.begin(), differences.end(),
                       [](const ValueDifference& a, const ValueDifference& b) { return a.relative < b.relative; });
  if (session.job.rank() == 0) {
    std::printf("compared %zu values with %s; only here: %zu, only there: %zu\n", differences.size(), c.with.c_str(),
                here.size() - differences.size(), there.size() - differences.size());
    if (first != differences.end()) print("first beyond the tolerance:", *first);
    print("largest difference:", *worst);
    std::fflush(stdout);
    if (!options.json.empty()) write_rows(session, options, differences);
  }
  return first == differences.end() ? 0 : 1;
}

}  // namespace cortado
