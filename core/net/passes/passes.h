#pragma once
#include <string>
#include <vector>

#include "core/net/net_graph.h"

namespace cortado {

/// The state of the net that a pass finds. `text`: the whole net, as text. `growth`: the layer that is set up next, as
/// text and made (NetGraph::coming), behind layers whose shapes are known. `net`: all layers, shaped.
enum class Stage { text, growth, net };

/// The nets in which a pass runs: all, those whose inner values nobody wants (without NetOptions::keeps_values), those
/// that only train (NetOptions::only_trains) or those that only score (NetOptions::only_scores).
enum class Applies { always, unless_kept, in_training, in_scoring };

/// One way of rewriting a net while it is built. Each has a file of its name in this folder, which draws a net before
/// and after it.
struct Pass {
  const char* name;  ///< as people write it: --without NAME
  const char* what;  ///< what it does, a line for people
  Stage stage;
  const char* needed;  ///< why nets cannot do without it; nullptr means that it saves time or memory
  Applies applies;
  bool keeps_bits;  ///< in float, without it losses and gradients are the same to the bit, not within rounding
  void (*run)(NetGraph& graph);
};

/// All passes, in the order in which they run.
const std::vector<Pass>& net_passes();

/// Runs those of a stage that apply to the net. Of `growth`: for the layer that comes next.
void run_passes(NetGraph& graph, Stage stage);

/// Throws ConfigError where a name is no pass, or one that nets need.
void check_without(const std::set<std::string>& names);

/// The passes themselves.
namespace passes {
void filter(NetGraph& graph);
void casts(NetGraph& graph);
void splits(NetGraph& graph);
void subsampling(NetGraph& graph);
void layouts(NetGraph& graph);
void pruning(NetGraph& graph);
void epilogues(NetGraph& graph);
void fixed_maps(NetGraph& graph);
void channel_sums(NetGraph& graph);
void residual_sums(NetGraph& graph);
void gradient_sums(NetGraph& graph);
void gradient_joins(NetGraph& graph);
void gradient_memory(NetGraph& graph);
void recomputation(NetGraph& graph);
}  // namespace passes

}  // namespace cortado
