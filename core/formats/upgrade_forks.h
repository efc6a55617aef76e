#pragma once
#include <string>

namespace caffe {
class LayerParameter;
}

namespace cortado {

/// Turns known words of Caffe's forks into Caffe's: a pooling's ceil_mode into round_mode, a convolution's hole into
/// dilation, equal crop_h and crop_w into crop_size. Throws ConfigError naming `origin` where both are given and
/// contradict each other.
void upgrade_fork_words(caffe::LayerParameter& layer, const std::string& origin);

}  // namespace cortado
