#include "layers/batch_norm/batch_norm.h"

#include "core/formats/caffe.pb.h"
#include "layers/batch_norm/programs.h"

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

/// Every rank's mean and variance become those of all ranks' batches together; returns how many values they are of.
double BatchNormLayer::share_statistics() {
  const double own = static_cast<double>(shape_.outer * shape_.inner);
  auto mean = mean_->data_vector(), variance = variance_->data_vector();
  std::vector<double> sums{own};
  for (const float m : mean) sums.push_back(own * m);
  run().replicas->sum(sums.data(), static_cast<i64>(sums.size()));
  const double values = sums[0];
  std::vector<double> squares;
  for (std::size_t k = 0; k < mean.size(); ++k) {
    const double all = sums[k + 1] / values, off = mean[k] - all;
    squares.push_back(own * (variance[k] + off * off));
    mean[k] = static_cast<float>(all);
  }
  run().replicas->sum(squares.data(), static_cast<i64>(squares.size()));
  for (std::size_t k = 0; k < mean.size(); ++k) variance[k] = static_cast<float>(squares[k] / values);
  mean_->write_data(mean.data());
  variance_->write_data(variance.data());
  return values;
}

void BatchNormLayer::batch_statistics(const float* x) {
  shape_.moments(group(), x, mean_->mutable_data(), variance_->mutable_data());
  const double values = synchronised() ? share_statistics() : static_cast<double>(shape_.outer * shape_.inner);
  TakeBatchStatistics p{};
  p.mean = mean_->data();
  p.variance = variance_->data();
  p.running_mean = blobs()[0]->mutable_data();
  p.running_variance = blobs()[1]->mutable_data();
  p.weight = blobs()[2]->mutable_data();
  p.inverse = inverse_->mutable_data();
  p.fraction = parameter().batch_norm_param().moving_average_fraction();
  p.unbias = static_cast<float>(values > 1 ? values / (values - 1) : 1);
  p.eps = parameter().batch_norm_param().eps();
  p.channels = shape_.channels;
  p.block = line_elements(group().spec(), p.channels, 5);
  PlanBuilder book(group().spec());
  const i64 line = p.block * 4;
  p.mean_buf = book.line("mean", line, 1);
  p.variance_buf = book.line("variance", line, 1);
  p.running_mean_buf = book.line("running mean", line, 1);
  p.running_variance_buf = book.line("running variance", line, 1);
  p.inverse_buf = book.line("inverse", line, 1);
  p.weight_buf = book.line("weight", 4, 1);
  group().launch(p, book.plan((p.channels + p.block - 1) / p.block));
}

void BatchNormLayer::running_statistics() {
  UseRunningStatistics p{};
  p.running_mean = blobs()[0]->data();
  p.running_variance = blobs()[1]->data();
  p.weight = blobs()[2]->data();
  p.mean = mean_->mutable_data();
  p.inverse = inverse_->mutable_data();
  p.eps = parameter().batch_norm_param().eps();
  p.channels = shape_.channels;
  p.block = line_elements(group().spec(), p.channels, 4);
  PlanBuilder book(group().spec());
  const i64 line = p.block * 4;
  p.running_mean_buf = book.line("running mean", line, 1);
  p.running_variance_buf = book.line("running variance", line, 1);
  p.weight_buf = book.line("weight", 4, 1);
  p.mean_buf = book.line("mean", line, 1);
  p.inverse_buf = book.line("inverse", line, 1);
  group().launch(p, book.plan((p.channels + p.block - 1) / p.block));
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
  const double values = synchronised() ? share_sums() : static_cast<double>(shape_.outer * shape_.inner);
  shape_.normalise_backward(group(), normalised_->data(), dy, plain, product, values, inverse_->data(),
                            bottom[0]->mutable_diff());
}

/// Every rank's sums become those over all ranks; returns how many values they are of.
double BatchNormLayer::share_sums() {
  auto sums = sums_->data_vector();
  std::vector<double> all(sums.begin(), sums.end());
  all.push_back(static_cast<double>(shape_.outer * shape_.inner));
  run().replicas->sum(all.data(), static_cast<i64>(all.size()));
  for (std::size_t k = 0; k < sums.size(); ++k) sums[k] = static_cast<float>(all[k]);
  sums_->write_data(sums.data());
  return all.back();
}

Layer::Cost BatchNormLayer::cost(const Blobs& bottom, const Blobs&) const {
  const auto n = static_cast<double>(bottom[0]->count());
  return {6 * n, 8 * n, 16 * n, 20 * n};
}

}  // namespace cortado
