#pragma once
#include "core/net/layer_table.h"

namespace cortado {

/// Every layer type of the tree, by Caffe's names.
LayerTable all_layers();

}  // namespace cortado
