#include "core/net/passes/passes.h"

#include <algorithm>

#include "core/base/error.h"

namespace cortado {

const std::vector<Pass>& net_passes() {
  constexpr auto always = Applies::always, unless_kept = Applies::unless_kept, training = Applies::in_training,
                 scoring = Applies::in_scoring;
  constexpr bool rounds = false, same = true;  // keeps_bits
  static const std::vector<Pass> all = {
      {"filter", "keeps the layers of the net's phase, level and stages", Stage::text,
       "the others belong to other nets", always, rounds, passes::filter},
      {"casts", "puts a Cast where bf16 and float meet", Stage::text, "a layer takes one precision", always, rounds,
       passes::casts},
      {"splits", "puts a Split behind a blob that several layers read", Stage::text,
       "each reader writes a gradient of its own", always, rounds, passes::splits},
      {"subsampling", "takes the pixels that strided convolutions share once", Stage::growth, nullptr, training, rounds,
       passes::subsampling},
      {"layouts", "lets blobs lie in blocks of channels, and puts a Reorder where a layer takes planes", Stage::growth,
       nullptr, unless_kept, rounds, passes::layouts},
      {"pruning", "leaves out gradients that reach no loss", Stage::net, nullptr, always, same, passes::pruning},
      {"epilogues", "lets layers do the work of those that follow in place", Stage::net, nullptr, unless_kept, rounds,
       passes::epilogues},
      {"fixed_maps", "lets convolutions apply the BatchNorm behind them", Stage::net, nullptr, scoring, rounds,
       passes::fixed_maps},
      {"channel_sums", "lets convolutions leave sums for the BatchNorm behind them", Stage::net, nullptr, unless_kept,
       rounds, passes::channel_sums},
      {"residual_sums", "lets BatchNorm add the other branch of a residual block", Stage::net, nullptr, training,
       rounds, passes::residual_sums},
      {"gradient_sums", "lets a layer add the gradients of its top's readers", Stage::net, nullptr, unless_kept, same,
       passes::gradient_sums},
      {"gradient_joins", "adds the second gradient of a residual sum to the first as it is made", Stage::net, nullptr,
       training, same, passes::gradient_joins},
      {"gradient_memory", "lets gradients that are not needed at the same time share memory", Stage::net, nullptr,
       training, same, passes::gradient_memory},
      {"recomputation", "lets values between layers share memory, and makes them again for backward", Stage::net,
       nullptr, training, same, passes::recomputation},
  };
  return all;
}

static bool applies(const Pass& pass, const NetOptions& options) {
  switch (pass.applies) {
    case Applies::unless_kept: return !options.keeps_values;
    case Applies::in_training: return options.only_trains;
    case Applies::in_scoring: return options.only_scores;
    default: return true;
  }
}

void run_passes(NetGraph& graph, Stage stage) {
  for (const Pass& pass : net_passes()) {
    if (pass.stage != stage || graph.is_off(pass.name) || !applies(pass, graph.options)) continue;
    graph.begin(pass.name);
    pass.run(graph);
  }
}

void check_without(const std::set<std::string>& names) {
  const auto is_called = [](const std::string& name) {
    return [&name](const Pass& pass) { return pass.name == name; };
  };
  std::string optional;
  for (const Pass& pass : net_passes())
    if (pass.needed == nullptr) optional += (optional.empty() ? "" : ", ") + std::string(pass.name);
  for (const std::string& name : names) {
    const auto pass = std::find_if(net_passes().begin(), net_passes().end(), is_called(name));
    if (pass == net_passes().end())
      throw ConfigError("without", "no pass is called '" + name + "'", "nets can do without " + optional);
    if (pass->needed != nullptr)
      throw ConfigError("without", "no net can do without the pass '" + name + "': " + pass->needed,
                        "nets can do without " + optional);
  }
}

}  // namespace cortado
