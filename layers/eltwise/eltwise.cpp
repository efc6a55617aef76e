#include "layers/eltwise/eltwise.h"

#include "core/formats/caffe.pb.h"
#include "layers/eltwise/programs.h"
#include "layers/relu/relu.h"

namespace cortado {
namespace {
void launch(CoreGroup& group, PairStep p, i64 n) {
  p.n = n;
  p.block = line_elements(group.spec(), n, 6);
  PlanBuilder book(group.spec());
  p.a_buf = book.line("a", p.block * 4, Depth::two);
  p.b_buf = book.line("b", p.block * 4, Depth::two);
  p.y_buf = book.line("y", p.block * 4, 1);
  p.index_buf = book.line("index", p.block * 4, 1);
  group.launch(p, book.plan((n + p.block - 1) / p.block));
}

PairStep step(PairOperation operation, const float* a, const float* b, float* y) {
  PairStep p{};
  p.operation = operation;
  p.a = a;
  p.b = b;
  p.y = y;
  return p;
}

PairStep weighted(const float* a, float wa, const float* b, float wb, float* y) {
  PairStep p = step(PairOperation::weighted_sum, a, b, y);
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
  if (p.coeff_size() > 0 && p.operation() != caffe::EltwiseParameter::SUM) bad_config("coefficients go with SUM only");
  index_ = std::make_unique<Blob>(group());
}

void EltwiseLayer::reshape(const Blobs& bottom, const Blobs& top) {
  for (const Blob* b : bottom)
    if (b->shape() != bottom[0]->shape())
      bad_shape("bottoms of shapes " + to_string(bottom[0]->shape()) + " and " + to_string(b->shape()));
  top[0]->reshape(bottom[0]->shape());
  index_->reshape(bottom[0]->shape());
}

/// A ReLU after a sum of at least two; its result has the sum's sign.
bool EltwiseLayer::absorb(Layer& next) {
  const auto* const relu = dynamic_cast<const ReluLayer*>(&next);
  if (relu == nullptr || relu->slope() < 0 || rectifies_ || parameter().bottom_size() < 2 ||
      parameter().eltwise_param().operation() != caffe::EltwiseParameter::SUM)
    return false;
  slope_ = relu->slope();
  return rectifies_ = true;
}

void EltwiseLayer::forward(const Blobs& bottom, const Blobs& top) {
  float* const y = top[0]->mutable_data();
  for (std::size_t i = 1; i < bottom.size(); ++i) {
    const float* const so_far = i == 1 ? bottom[0]->data() : y;
    const float* const next = bottom[i]->data();
    PairStep p = step(PairOperation::product, so_far, next, y);
    if (parameter().eltwise_param().operation() == caffe::EltwiseParameter::SUM) {
      p = weighted(so_far, i == 1 ? coefficient(0) : 1, next, coefficient(i), y);
      if (i + 1 == bottom.size()) p.slope = slope_;
    }
    if (parameter().eltwise_param().operation() == caffe::EltwiseParameter::MAX) {
      p.operation = PairOperation::larger;
      p.index = index_->mutable_data();
      p.which = static_cast<float>(i);
      p.first = i == 1;
    }
    launch(group(), p, top[0]->count());
  }
}

void EltwiseLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  const float* const dy = top[0]->diff();
  const i64 n = top[0]->count();
  for (std::size_t i = 0; i < bottom.size(); ++i) {
    if (!propagate_down[i]) continue;
    float* const dx = bottom[i]->mutable_diff();
    switch (parameter().eltwise_param().operation()) {
      case caffe::EltwiseParameter::SUM: {
        PairStep p = weighted(dy, coefficient(i), rectifies_ ? top[0]->data() : dy, 0, dx);
        if (rectifies_) p.operation = PairOperation::where_positive, p.slope = slope_;
        launch(group(), p, n);
        break;
      }
      case caffe::EltwiseParameter::MAX: {
        PairStep p = step(PairOperation::where_index, dy, index_->data(), dx);
        p.which = static_cast<float>(i);
        launch(group(), p, n);
        break;
      }
      case caffe::EltwiseParameter::PROD: {
        const float* so_far = dy;
        for (std::size_t j = 0; j < bottom.size(); ++j) {
          if (j == i) continue;
          launch(group(), step(PairOperation::product, so_far, bottom[j]->data(), dx), n);
          so_far = dx;
        }
      }
    }
  }
}

Layer::Cost EltwiseLayer::cost(const Blobs& bottom, const Blobs& top) const {
  const auto n = static_cast<double>(top[0]->count()), k = static_cast<double>(bottom.size());
  return {n * k, n * k, 4 * n * (k + 1), 8 * n * k};
}

}  // namespace cortado
