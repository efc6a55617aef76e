#pragma once
#include "core/net/net.h"

namespace caffe {
class NetParameter;
}

namespace cortado::fuzz {

/// A vector, a 1 x 3 matrix, a vector that shares the first one's values, and a statistic.
caffe::NetParameter small_net_parameter();
/// That net, on the checking backend.
Net& small_net();
/// The services that the small net needs.
NetOptions small_net_options();

}  // namespace cortado::fuzz
