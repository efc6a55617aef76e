#include "layers/eltwise/sum_gradient.h"

namespace cortado {

template <class T, int gradients>
void launch(CoreGroup& group, SumGradient<T, gradients> p, i64 n) {
  p.n = n;
  p.block = line_elements(group.spec(), n, 2 * gradients + 4);
  PlanBuilder book(group.spec());
  for (Buf& buf : p.dy_buf) buf = book.line("gradients", p.block * 4, Depth::two);
  p.y_buf = book.line("sums", p.block * 4, Depth::two);
  for (Buf& buf : p.dx_buf) buf = book.line("results", p.block * 4, 1);
  group.launch(p, book.plan((n + p.block - 1) / p.block));
}

template <class T, int gradients>
SumGradient<T, gradients> sum_gradient(const Layer::Blobs& top, bool rectifies, float slope) {
  SumGradient<T, gradients> p{};
  for (int k = 0; k < gradients; ++k) p.dy[k] = top[static_cast<std::size_t>(k)]->diff<T>();
  p.y = rectifies ? top[0]->data<T>() : p.dy[0];
  p.slope = slope;
  return p;
}

template SumGradient<float, 1> sum_gradient(const Layer::Blobs&, bool, float);
template void launch(CoreGroup&, SumGradient<float, 1>, i64);
template SumGradient<float, 2> sum_gradient(const Layer::Blobs&, bool, float);
template void launch(CoreGroup&, SumGradient<float, 2>, i64);
template SumGradient<bf16, 1> sum_gradient(const Layer::Blobs&, bool, float);
template void launch(CoreGroup&, SumGradient<bf16, 1>, i64);
template SumGradient<bf16, 2> sum_gradient(const Layer::Blobs&, bool, float);
template void launch(CoreGroup&, SumGradient<bf16, 2>, i64);

namespace {
template <class T, int gradients>
void add_gradients(CoreGroup& group, const Layer::Blobs& top, bool rectifies, float slope, Blob& bottom) {
  SumGradient<T, gradients> p = sum_gradient<T, gradients>(top, rectifies, slope);
  p.outputs = 1;
  p.dx[0] = bottom.mutable_diff<T>(), p.w[0] = 1;
  launch(group, p, bottom.count());
}
}  // namespace

template <class T>
void gradient_of_sum(CoreGroup& group, const Layer::Blobs& top, bool rectifies, float slope, Blob& bottom) {
  return top.size() == 1 ? add_gradients<T, 1>(group, top, rectifies, slope, bottom)
                         : add_gradients<T, 2>(group, top, rectifies, slope, bottom);
}
template void gradient_of_sum<float>(CoreGroup&, const Layer::Blobs&, bool, float, Blob&);
template void gradient_of_sum<bf16>(CoreGroup&, const Layer::Blobs&, bool, float, Blob&);

}  // namespace cortado
