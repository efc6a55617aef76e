#include "layers/batch_norm/batch_norm.h"

#include <cmath>

#include "core/formats/caffe.pb.h"

namespace cortado {

bool BatchNormLayer::global() const {
  const auto& p = parameter().batch_norm_param();
  return p.has_use_global_stats() ? p.use_global_stats() : run().phase == Phase::test;
}

bool BatchNormLayer::synchronised() const { return parameter().batch_norm_param().synchronised() && run().ranks > 1; }

void BatchNormLayer::setup(const Blobs& bottom, const Blobs&) {
  const i64 channels = bottom[0]->axes() == 1 ? 1 : bottom[0]->dim(1);
  const caffe::FillerParameter zero;
  add_parameter({channels}, zero);
  add_parameter({channels}, zero);
  add_parameter({1}, zero);
  for (auto* place : {&mean_, &variance_, &inverse_}) *place = std::make_unique<Blob>(group(), Shape{channels});
  sums_ = std::make_unique<Blob>(group(), Shape{2, channels});
  normalised_ = std::make_unique<Blob>(group());
}

void BatchNormLayer::reshape(const Blobs& bottom, const Blobs& top) {
  const bool flat = bottom[0]->axes() == 1;
  shape_ = {bottom[0]->dim(0), flat ? 1 : bottom[0]->dim(1), flat ? 1 : bottom[0]->count(2)};
  if (shape_.channels != blobs()[0]->count())
    bad_shape("has statistics of " + std::to_string(blobs()[0]->count()) + " channels, the bottom has shape " +
              to_string(bottom[0]->shape()));
  top[0]->reshape(bottom[0]->shape());
  normalised_->reshape(bottom[0]->shape());
}

/// Mean, inverse deviation and the running sums from this batch. The few values per channel are finished on the host,
/// where other ranks' come in too.
void BatchNormLayer::batch_statistics(const float* x) {
  shape_.moments(group(), x, mean_->mutable_data(), variance_->mutable_data());
  auto mean = mean_->data_vector(), variance = variance_->data_vector();
  double values = static_cast<double>(shape_.outer * shape_.inner);
  if (synchronised()) {
    const double own = values;
    std::vector<double> sums{own};
    for (const float m : mean) sums.push_back(own * m);
    run().replicas->sum(sums.data(), static_cast<i64>(sums.size()));
    values = sums[0];
    std::vector<double> squares;
    for (std::size_t k = 0; k < mean.size(); ++k) {
      const double all = sums[k + 1] / values, off = mean[k] - all;
      squares.push_back(own * (variance[k] + off * off));
      mean[k] = static_cast<float>(all);
    }
    run().replicas->sum(squares.data(), static_cast<i64>(squares.size()));
    for (std::size_t k = 0; k < mean.size(); ++k) variance[k] = static_cast<float>(squares[k] / values);
    mean_->write_data(mean.data());
  }
  const auto& p = parameter().batch_norm_param();
  const float fraction = p.moving_average_fraction(),
              unbias = static_cast<float>(values > 1 ? values / (values - 1) : 1);
  auto running_mean = blobs()[0]->data_vector(), running_variance = blobs()[1]->data_vector(),
       weight = blobs()[2]->data_vector();
  std::vector<float> inverse;
  for (std::size_t k = 0; k < mean.size(); ++k) {
    running_mean[k] = mean[k] + fraction * running_mean[k];
    running_variance[k] = unbias * variance[k] + fraction * running_variance[k];
    inverse.push_back(1 / std::sqrt(variance[k] + p.eps()));
  }
  weight[0] = 1 + fraction * weight[0];
  blobs()[0]->write_data(running_mean.data());
  blobs()[1]->write_data(running_variance.data());
  blobs()[2]->write_data(weight.data());
  inverse_->write_data(inverse.data());
}

void BatchNormLayer::running_statistics() {
  auto mean = blobs()[0]->data_vector();
  const auto variance = blobs()[1]->data_vector(), weight = blobs()[2]->data_vector();
  const float factor = weight[0] == 0 ? 0 : 1 / weight[0];
  std::vector<float> inverse;
  for (std::size_t k = 0; k < mean.size(); ++k) {
    mean[k] *= factor;
    inverse.push_back(1 / std::sqrt(variance[k] * factor + parameter().batch_norm_param().eps()));
  }
  mean_->write_data(mean.data());
  inverse_->write_data(inverse.data());
}

void BatchNormLayer::forward(const Blobs& bottom, const Blobs& top) {
  if (global())
    running_statistics();
  else
    batch_statistics(bottom[0]->data());
  shape_.affine(group(), bottom[0]->data(), mean_->data(), inverse_->data(), nullptr, top[0]->mutable_data());
  // Layers above may overwrite the top in place; backward needs the normalised values.
  if (!global())
    group().copy(normalised_->mutable_data(), top[0]->data(), static_cast<std::size_t>(shape_.count()) * sizeof(float));
}

void BatchNormLayer::backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) {
  if (!propagate_down[0]) return;
  const float* const dy = top[0]->diff();
  if (global()) return shape_.affine(group(), dy, nullptr, inverse_->data(), nullptr, bottom[0]->mutable_diff());
  float *const plain = sums_->mutable_data(), *const product = plain + shape_.channels;
  shape_.gradients(group(), normalised_->data(), dy, false, plain, product);
  auto sums = sums_->data_vector();
  double values = static_cast<double>(shape_.outer * shape_.inner);
  if (synchronised()) {
    std::vector<double> all(sums.begin(), sums.end());
    all.push_back(values);
    run().replicas->sum(all.data(), static_cast<i64>(all.size()));
    values = all.back();
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] = static_cast<float>(all[k]);
  }
  for (float& sum : sums) sum = static_cast<float>(sum / values);
  sums_->write_data(sums.data());
  shape_.normalise_backward(group(), normalised_->data(), dy, plain, product, inverse_->data(),
                            bottom[0]->mutable_diff());
}

Layer::Cost BatchNormLayer::cost(const Blobs& bottom, const Blobs&) const {
  const auto n = static_cast<double>(bottom[0]->count());
  return {6 * n, 8 * n, 16 * n, 20 * n};
}

}  // namespace cortado
