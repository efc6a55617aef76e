#include "layers/eltwise/eltwise.h"

#include "core/formats/caffe.pb.h"
#include "layers/eltwise/programs.h"
#include "layers/eltwise/sum_gradient.h"

namespace cortado {
namespace {
template <class T>
void launch(CoreGroup& group, PairStep<T> p, i64 n) {
  p.n = n;
  p.block = line_elements(group.spec(), n, 6);
  PlanBuilder book(group.spec());
  p.a_buf = book.line("a", p.block * 4, Depth::two);
  p.b_buf = book.line("b", p.block * 4, Depth::two);
  p.y_buf = book.line("y", p.block * 4, 1);
  p.index_buf = book.line("index", p.block * 4, 1);
  group.launch(p, book.plan((n + p.block - 1) / p.block));
}

template <class T>
PairStep<T> step(PairOperation operation, const T* a, const T* b, T* y) {
  PairStep<T> p{};
  p.operation = operation;
  p.a = a;
  p.b = b;
  p.y = y;
  return p;
}

template <class T>
PairStep<T> weighted(const T* a, float wa, const T* b, float wb, T* y) {
  PairStep<T> p = step(PairOperation::weighted_sum, a, b, y);
  p.wa = wa;
  p.wb = wb;
  p.slope = 1;
  return p;
}
}  // namespace

float EltwiseLayer::coefficient(std::size_t i) const {
  const auto& p = parameter().eltwise_param();
  return p.coeff_size() > 0 ? p.coeff(static_cast<int>(i)) : 1;
}

void EltwiseLayer::setup(const Blobs& bottom, const Blobs&) {
  const auto& p = parameter().eltwise_param();
  if (p.coeff_size() > 0 && p.coeff_size() != static_cast<int>(bottom.size()))
    bad_config(std::to_string(p.coeff_size()) + " coefficients for " + std::to_string(bottom.size()) + " bottoms");
  if (p.coeff_size() > 0 && p.operation() == caffe::EltwiseParameter::PROD)
    bad_config("coefficients do not go with PROD", "leave them out, or put a Power layer behind");
  index_ = std::make_unique<Blob>(group());
}

void EltwiseLayer::reshape(const Blobs& bottom, const Blobs& top) {
  for (const Blob* b : bottom)
    if (b->shape() != bottom[0]->shape())
      bad_shape("bottoms of shapes " + to_string(bottom[0]->shape()) + " and " + to_string(b->shape()));
  top[0]->reshape_like(*bottom[0]);
  index_->reshape_like(*bottom[0]);
}

Traits EltwiseLayer::traits() {
  Traits traits;
  traits.is_sum_of_two = parameter().eltwise_param().operation() == caffe::EltwiseParameter::SUM &&
                         parameter().bottom_size() == 2 && coefficient(0) == 1 && coefficient(1) == 1;
  return traits;
}

/// Only sums accept work. A rectified sum has the sign of the sum.
bool EltwiseLayer::accept(const Epilogue& work) {
  if (parameter().eltwise_param().operation() != caffe::EltwiseParameter::SUM) return false;
  if (const auto* const gradients = std::get_if<epilogue::GradientSum>(&work)) {
    if (gradients->count != 2) return false;
    gradients_ = gradients->count;
    return true;
  }
  const auto* const rectifier = std::get_if<epilogue::Rectifier>(&work);
  if (rectifier == nullptr || !rectifier->all_propagate || rectifies_ || parameter().bottom_size() < 2) return false;
  slope_ = rectifier->slope;
  return rectifies_ = true;
}

void EltwiseLayer::forward(const Blobs& bottom, const Blobs& top) {
  with_element(top[0]->precision(), [&](auto element) { run_forward<decltype(element)>(bottom, top); });
}

template <class T>
void EltwiseLayer::run_forward(const Blobs& bottom, const Blobs& top) {
  T* const y = top[0]->mutable_data<T>();
  for (std::size_t i = 1; i < bottom.size(); ++i) {
    const T* const so_far = i == 1 ? bottom[0]->data<T>() : y;
    const T* const next = bottom[i]->data<T>();
    PairStep<T> p = step<T>(PairOperation::product, so_far, next, y);
    if (parameter().eltwise_param().operation() == caffe::EltwiseParameter::SUM) {
      p = weighted<T>(so_far, i == 1 ? coefficient(0) : 1, next, coefficient(i), y);
      if (i + 1 == bottom.size()) p.slope = slope_;
    }
    if (parameter().eltwise_param().operation() == caffe::EltwiseParameter::MAX) {
      p.operation = PairOperation::larger;
      p.index = index_->mutable_data<T>();
      p.which = static_cast<float>(i);
      p.first = i == 1;
    }
    launch(group(), p, top[0]->count());
  }
}

void EltwiseLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  with_element(top[0]->precision(),
               [&](auto element) { run_backward<decltype(element)>(top, propagate_down, bottom); });
}

template <class T>
void EltwiseLayer::run_backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  if (parameter().eltwise_param().operation() == caffe::EltwiseParameter::SUM)
    return gradients_ == 1 ? run_sum_backward<T, 1>(top, propagate_down, bottom)
                           : run_sum_backward<T, 2>(top, propagate_down, bottom);
  const T* const dy = top[0]->diff<T>();
  const i64 n = top[0]->count();
  for (std::size_t i = 0; i < bottom.size(); ++i) {
    if (!propagate_down[i]) continue;
    T* const dx = bottom[i]->mutable_diff<T>();
    switch (parameter().eltwise_param().operation()) {
      case caffe::EltwiseParameter::SUM: break;  // see above
      case caffe::EltwiseParameter::MAX: {
        PairStep<T> p = step<T>(PairOperation::where_index, dy, index_->data<T>(), dx);
        p.which = static_cast<float>(i);
        launch(group(), p, n);
        break;
      }
      case caffe::EltwiseParameter::PROD: {
        const T* so_far = dy;
        for (std::size_t j = 0; j < bottom.size(); ++j) {
          if (j == i) continue;
          launch(group(), step<T>(PairOperation::product, so_far, bottom[j]->data<T>(), dx), n);
          so_far = dx;
        }
      }
    }
  }
}

/// Two bottoms at a time.
template <class T, int gradients>
void EltwiseLayer::run_sum_backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < bottom.size(); ++i)
    if (propagate_down[i]) asked.push_back(i);
  SumGradient<T, gradients> p = sum_gradient<T, gradients>(top, rectifies_, slope_);
  for (std::size_t i = 0; i < asked.size(); i += 2) {
    p.outputs = i + 1 < asked.size() ? 2 : 1;
    for (std::size_t k = 0; k < static_cast<std::size_t>(p.outputs); ++k)
      p.dx[k] = bottom[asked[i + k]]->mutable_diff<T>(), p.w[k] = coefficient(asked[i + k]);
    launch(group(), p, top[0]->count());
  }
}

Layer::Cost EltwiseLayer::cost(const Blobs& bottom, const Blobs& top) const {
  const auto n = static_cast<double>(top[0]->count()), k = static_cast<double>(bottom.size());
  const double added = static_cast<double>(gradients_) + (rectifies_ ? 1 : 0);
  return {n * k, n * k, 4 * n * (k + 1), 4 * n * (k + added)};
}

}  // namespace cortado
