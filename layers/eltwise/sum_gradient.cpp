#include "layers/eltwise/sum_gradient.h"

#include "core/machine/launch_elementwise.h"
#include "layers/eltwise/programs.h"

namespace cortado {

template <class T>
void gradients_of_sum(CoreGroup& group, const Layer::Blobs& top, bool rectifies, float slope, const std::vector<T*>& dx,
                      const std::vector<float>& w) {
  const i64 n = top[0]->count();
  const T* const dy = top[0]->diff<T>();
  const T* const y = rectifies ? top[0]->data<T>() : dy;
  const auto launch = [&](const auto& gradient, auto results) {
    if (top.size() == 1)
      elementwise(group, n, gradient, from(y, dy), results);
    else
      elementwise(group, n, gradient, from(y, dy, top[1]->diff<T>()), results);
  };
  if (dx.size() == 1)
    launch(SumGradient<1>{{w[0]}, slope}, to(dx[0]));
  else
    launch(SumGradient<2>{{w[0], w[1]}, slope}, to(dx[0], dx[1]));
}

template void gradients_of_sum(CoreGroup&, const Layer::Blobs&, bool, float, const std::vector<float*>&,
                               const std::vector<float>&);
template void gradients_of_sum(CoreGroup&, const Layer::Blobs&, bool, float, const std::vector<bf16*>&,
                               const std::vector<float>&);

}  // namespace cortado
