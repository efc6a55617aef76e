#pragma once
#include <string>

#include "core/net/layer_table.h"

namespace cortado {

/// read_net, whose errors name layers of unknown types as well: one run then tells all that is to be changed.
void read_known_net(const std::string& file, caffe::NetParameter& net, const LayerTable& layers);

/// The stages that rules of the net ask for and its state has not, as advice to a user whose data is away; empty: none.
std::string other_stages(const caffe::NetParameter& net);

}  // namespace cortado
