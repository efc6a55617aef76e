#include "layers/silence/silence.h"

namespace cortado {

void SilenceLayer::backward(const Blobs&, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  for (std::size_t i = 0; i < bottom.size(); ++i)
    if (propagate_down[i]) bottom[i]->zero_diff();
}

}  // namespace cortado
