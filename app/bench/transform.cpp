#include "layers/transform/transform.h"

#include <set>

#include "app/bench/bench.h"
#include "app/measure/measure.h"
#include "app/measure/net_sets.h"
#include "app/report/progress_bar.h"

namespace cortado {
namespace {

/// The bottoms of the sets' convolutions, each shape once.
std::vector<SetLayer> bottoms_of(const Session& session, const SetFlags& sets) {
  std::vector<SetLayer> list;
  std::set<Shape> seen;
  for (auto& layer : layers_of(session.net_options(), sets.sets, sets.batch, "Convolution"))
    if (seen.insert(layer.bottom).second) list.push_back(std::move(layer));
  return list;
}

/// Throws Error where the arrays do not fit.
double time_transform(CoreGroup& group, Layout from, Layout to, const Shape& shape) {
  const ClusterMemory x = numbers<float>(group, floats_of(from, shape)),
                      y = numbers<float>(group, floats_of(to, shape));
  return seconds_of(group, [&] { transform(group, from, to, shape, x.as<float>(), y.as<float>()); });
}

class BenchTransform : public Bench {
  void add_own(Flags& flags) override { sets_.add_to(flags); }
  void measure(Session& session) override;

  SetFlags sets_{{"vgg16", "alexnet_bn", "resnet50"}};
};

void BenchTransform::measure(Session& session) {
  CoreGroup& group = session.group;
  std::vector<std::pair<Layout, Layout>> ways;
  for (const Layout other : {Layout::hwcn, Layout::nchw16c, Layout::nhwc})
    ways.insert(ways.end(), {{Layout::nchw, other}, {other, Layout::nchw}});
  const auto layers = bottoms_of(session, sets_);
  const Limits limits = limits_of(group);
  Report report({{"set", "set"},
                 {"layer", "bottom of"},
                 {"shape", "shape"},
                 {"from", "from"},
                 {"to", "to"},
                 {"seconds", "s", 5},
                 {"gbytes_per_s", "GB/s", 2},
                 {"bandwidth_share", "of limit", 3}},
                group.spec(), bench_options("transform", sets_, limits));
  ProgressBar bar("timing transforms");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    bar.show(static_cast<i64>(i), static_cast<i64>(layers.size()), layers[i].set + " " + layers[i].name);
    for (const auto& [from, to] : ways) {
      const Shape& shape = layers[i].bottom;
      const double seconds = time_transform(group, from, to, shape);
      const double bytes = 4.0 * static_cast<double>(floats_of(from, shape) + floats_of(to, shape));
      report.add({{"set", layers[i].set},
                  {"layer", layers[i].name},
                  {"shape", to_string(shape)},
                  {"from", to_string(from)},
                  {"to", to_string(to)},
                  {"seconds", seconds},
                  {"gbytes_per_s", bytes / seconds / 1e9},
                  {"bandwidth_share", bytes / seconds / limits.bandwidth}});
    }
  }
  show(session, report, "limits: " + to_string(limits) + "\n");
}

}  // namespace

std::unique_ptr<Verb> make_bench_transform() { return std::make_unique<BenchTransform>(); }

}  // namespace cortado
