#pragma once
#include <string>

#include "core/net/layer_table.h"

namespace cortado {

/// Reads a net as read_net does. Errors name layers of unknown types as well, so that one run tells all mistakes.
void read_known_net(const std::string& file, caffe::NetParameter& net, const LayerTable& layers);

/// Warns of the state's stages that no rule of the net names.
void warn_of_unknown_stages(const caffe::NetParameter& net);

/// Advice to a user whose data layers are left out: the stages that the net's rules need and its state does not have.
/// Empty means none.
std::string other_stages(const caffe::NetParameter& net);

}  // namespace cortado
