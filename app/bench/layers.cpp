#include "app/bench/bench.h"
#include "app/measure/measure.h"
#include "app/measure/net_sets.h"
#include "app/report/progress_bar.h"

namespace cortado {
namespace {

std::unique_ptr<Net> net_of(const Session& session, const SetLayer& layer) {
  caffe::NetParameter parameter;
  auto& input = *parameter.add_layer();
  input.set_name("x");
  input.set_type("Input");
  input.add_top("x");
  auto& shape = *input.mutable_input_param()->add_shape();
  for (const i64 n : layer.bottom) shape.add_dim(n);
  auto& work = *parameter.add_layer() = layer.parameter;
  work.set_name("layer");
  work.clear_bottom();
  work.add_bottom("x");
  work.clear_top();
  work.add_top("y");
  return std::make_unique<Net>(parameter, session.net_options());
}

void time_layer(Session& session, const SetLayer& layer, const Limits& limits, Report& report) {
  const auto net = net_of(session, layer);
  Blob &x = *net->blob("x"), &y = *net->blob("y");
  // Both with gradients, and what pooling keeps for its way back.
  if (4 * (2 * x.count() + 3 * y.count()) > free_memory(session.group.spec()))
    return report.add({{"set", layer.set},
                       {"layer", layer.name},
                       {"shape", to_string(layer.bottom)},
                       {"refused", "needs more memory than is free"}});
  for (Blob* blob : {&x, &y}) {
    fill_with_numbers(session.group, blob->mutable_data(), blob->count());
    fill_with_numbers(session.group, blob->mutable_diff(), blob->count());
  }
  Layer& work = *net->layer("layer");
  const auto cost = work.cost({&x}, {&y});
  const auto add = [&](const char* direction, double seconds, double bytes) {
    report.add({{"set", layer.set},
                {"layer", layer.name},
                {"shape", to_string(layer.bottom)},
                {"direction", direction},
                {"seconds", seconds},
                {"gbytes_per_s", bytes / seconds / 1e9},
                {"bandwidth_share", bytes / seconds / limits.bandwidth}});
  };
  add("forward", seconds_of(session.group, [&] { work.forward({&x}, {&y}); }), cost.forward_bytes);
  add("backward", seconds_of(session.group, [&] { work.backward({&y}, {true}, {&x}); }), cost.backward_bytes);
}

/// All layers of one type.
class BenchLayers : public Bench {
 public:
  BenchLayers(std::string kind, std::string type) : kind_(std::move(kind)), type_(std::move(type)) {}

 private:
  void add_own(Flags& flags) override { sets_.add_to(flags); }
  void measure(Session& session) override;

  const std::string kind_, type_;
  SetFlags sets_{{"vgg16", "alexnet_bn", "resnet50"}};
};

void BenchLayers::measure(Session& session) {
  const auto layers = layers_of(session.net_options(), sets_.sets, sets_.batch, type_);
  const Limits limits = limits_of(session.group);
  Report report({{"set", "set"},
                 {"layer", "layer"},
                 {"shape", "bottom"},
                 {"direction", "direction"},
                 {"seconds", "s", 5},
                 {"gbytes_per_s", "GB/s", 2},
                 {"bandwidth_share", "of limit", 3},
                 {"refused", ""}},
                session.group.spec(), bench_options(kind_, sets_, limits));
  ProgressBar bar("timing layers");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    bar.show(static_cast<i64>(i), static_cast<i64>(layers.size()), layers[i].set + " " + layers[i].name);
    time_layer(session, layers[i], limits, report);
  }
  show(session, report, "limits: " + to_string(limits) + "\n");
}

}  // namespace

std::unique_ptr<Verb> make_bench_pool() { return std::make_unique<BenchLayers>("pool", "Pooling"); }
std::unique_ptr<Verb> make_bench_relu() { return std::make_unique<BenchLayers>("relu", "ReLU"); }

}  // namespace cortado
