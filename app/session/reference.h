#pragma once
#include <memory>

#include "core/machine/core_group.h"

namespace cortado {

/// One core group of the reference backend. Builds of other backends keep its programs in a module, which is loaded
/// here: few runs need them. Throws ConfigError if the module is not there.
std::unique_ptr<Processor> make_reference_processor();

}  // namespace cortado
