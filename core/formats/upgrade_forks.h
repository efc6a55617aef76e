#pragma once
#include <string>

namespace caffe {
class LayerParameter;
}

namespace cortado {

/// Turns the words of Caffe's forks that mean something here into Caffe's: a pooling's ceil_mode into round_mode, a
/// convolution's hole into dilation, equal crop_h and crop_w into crop_size. Throws ConfigError naming `origin` where
/// both say something else.
void upgrade_fork_words(caffe::LayerParameter& layer, const std::string& origin);

}  // namespace cortado
