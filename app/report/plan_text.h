#pragma once
#include <string>

#include "core/net/net.h"

namespace cortado {

/// "forward: winograd, weight_gradient: direct": what a layer has chosen; empty for layers without a choice.
std::string plans_of(const Layer& layer);

/// A line for every plan that a layer of the net passed over, with the reason; then what the convolutions' among them
/// do.
std::string reasons_of(const Net& net);

/// What every pass did to the net, in their order: a line for each change, with the pass's name before the first.
std::string passes_of(const Net& net);

}  // namespace cortado
