#pragma once
#include <string>

#include "core/net/net.h"

namespace cortado {

/// The choices of a layer, "forward: winograd, weight_gradient: direct"; empty for layers without a choice.
std::string plans_of(const Layer& layer);

/// A line for every plan that a layer of the net passed over, with the reason. Behind them stands what the
/// convolutions' plans among them do.
std::string reasons_of(const Net& net);

/// The changes of every pass to the net, in their order: a line for each, with the pass's name before the first.
std::string passes_of(const Net& net);

}  // namespace cortado
