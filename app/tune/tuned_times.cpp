#include "app/tune/tuned_times.h"

#include <algorithm>

#include "app/measure/layer_times.h"
#include "app/measure/measure.h"

namespace cortado {
namespace {

double seconds_of_iteration(Net& net, CoreGroup& group) {
  const LayerTimes times = time_layers(net, group, 1, true);
  return (times.forward_sum + times.backward_sum) / 1e3;
}

IterationTimes summary(const std::vector<double>& seconds) {
  const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
  return {median(seconds), *least, *most};
}

}  // namespace

TunedTimes time_tuned(const Session& session, const caffe::NetParameter& parameter, const TuningTable& table,
                      i64 rounds) {
  NetOptions options = session.net_options();
  options.only_trains = true;
  Net before(parameter, options);
  options.layouts = table.layouts();
  Net after(parameter, options);
  after.use_plans(table.plans_for(after));
  if (session.group.spec().timing_only) {
    rounds = 1;
  } else {
    for (Net* net : {&before, &after}) seconds_of_iteration(*net, session.group);
  }
  std::vector<double> without, with;
  for (i64 round = 0; round < rounds; ++round) {
    without.push_back(seconds_of_iteration(before, session.group));
    with.push_back(seconds_of_iteration(after, session.group));
  }
  return {summary(without), summary(with)};
}

}  // namespace cortado
