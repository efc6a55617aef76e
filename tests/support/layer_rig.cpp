#include "tests/support/layer_rig.h"

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "core/formats/prototxt.h"
#include "layers/all_layers.h"

namespace cortado::test {
namespace {
std::vector<float> made(i64 count, const std::function<float(i64)>& value) {
  std::vector<float> host(static_cast<std::size_t>(count));
  for (i64 i = 0; i < count; ++i) host[static_cast<std::size_t>(i)] = value(i);
  return host;
}
}  // namespace

float noise(std::uint64_t stream, i64 i) { return 2 * random_uniform(stream + 1, static_cast<std::uint64_t>(i)) - 1; }

std::vector<float> noise_vector(std::uint64_t stream, i64 count) {
  return made(count, [&](i64 i) { return noise(stream, i); });
}

void expect_near(const std::vector<float>& actual, const std::vector<float>& expected, float absolute, float relative) {
  ASSERT_EQ(actual.size(), expected.size());
  int shown = 0;
  for (std::size_t i = 0; i < actual.size() && shown < 5; ++i) {
    const float allowed = absolute + relative * std::fabs(expected[i]);
    if (!(std::fabs(actual[i] - expected[i]) <= allowed)) {
      ADD_FAILURE() << "element " << i << " of " << actual.size() << ": " << actual[i] << " instead of " << expected[i];
      ++shown;
    }
  }
}

LayerRig::LayerRig(const std::string& backend, const std::string& text, const std::vector<Shape>& bottoms, int tops,
                   Phase phase)
    : group_(group_of(backend)), workspace_(group_) {
  run_.phase = phase;
  run_.replicas = &alone_;
  services_.group = &group_;
  services_.replicas = &alone_;
  caffe::LayerParameter parameter;
  parse_text(text, "test", parameter);
  const LayerTable table = all_layers();
  layer_ = table.make(parameter, LayerContext{services_, run_, workspace_});
  for (std::size_t i = 0; i < bottoms.size(); ++i) {
    bottom_storage_.push_back(std::make_unique<Blob>(group_, bottoms[i]));
    bottom_.push_back(bottom_storage_.back().get());
    fill_bottom(i, [i](i64 e) { return noise(i, e); });
  }
  for (int i = 0; i < tops; ++i) {
    top_storage_.push_back(std::make_unique<Blob>(group_));
    top_.push_back(top_storage_.back().get());
  }
  layer_->setup(bottom_, top_);
  layer_->reshape(bottom_, top_);
}

LayerRig::~LayerRig() = default;

void LayerRig::fill_bottom(std::size_t i, const std::function<float(i64)>& value) {
  bottom_[i]->write_data(made(bottom_[i]->count(), value).data());
}

void LayerRig::fill_top_diff(std::size_t i, const std::function<float(i64)>& value) {
  top_[i]->write_diff(made(top_[i]->count(), value).data());
}

void LayerRig::fill_blob(std::size_t i, const std::function<float(i64)>& value) {
  blob(i).write_data(made(blob(i).count(), value).data());
}

void LayerRig::forward() {
  layer_->reshape(bottom_, top_);
  layer_->forward(bottom_, top_);
  group_.wait();
}

void LayerRig::backward(std::vector<bool> propagate) {
  if (propagate.empty())
    for (std::size_t i = 0; i < bottom_.size(); ++i) propagate.push_back(layer_->allows_backward_to(i));
  for (auto& b : layer_->blobs()) {
    b->write_diff(std::vector<float>(static_cast<std::size_t>(b->count()), std::nanf("")).data());
    b->clear_diff();
  }
  layer_->backward(top_, propagate, bottom_);
  group_.wait();
}

double LayerRig::objective() {
  forward();
  double sum = 0;
  for (std::size_t t = 0; t < top_.size(); ++t) {
    const auto values = top_[t]->data_vector();
    for (std::size_t j = 0; j < values.size(); ++j) sum += double{values[j]} * double{top_weights_[t][j]};
  }
  return sum;
}

void LayerRig::check_gradients(float step, float tolerance, bool skip_kinks) {
  forward();
  top_weights_.clear();
  for (std::size_t t = 0; t < top_.size(); ++t) {
    const bool loss = layer_->is_loss() && t == 0;
    top_weights_.push_back(made(top_[t]->count(), [&](i64 j) { return loss ? 1.0f : noise(100 + t, j); }));
    if (layer_->is_loss() && t > 0) top_weights_[t].assign(top_weights_[t].size(), 0.0f);
    top_[t]->write_diff(top_weights_[t].data());
  }
  backward();
  std::vector<std::vector<float>> gradients;
  std::vector<std::pair<std::string, Blob*>> values;
  for (std::size_t i = 0; i < bottom_.size(); ++i)
    if (layer_->allows_backward_to(i)) {
      values.emplace_back("bottom " + std::to_string(i), bottom_[i]);
      gradients.push_back(bottom_[i]->diff_vector());
    }
  for (std::size_t i = 0; i < layer_->blobs().size(); ++i)
    if (!layer_->is_statistic(i)) {
      values.emplace_back("parameter " + std::to_string(i), &blob(i));
      gradients.push_back(blob(i).diff_vector());
    }
  for (std::size_t v = 0; v < values.size(); ++v)
    compare_gradient(values[v].first, *values[v].second, gradients[v], step, tolerance, skip_kinks);
}

void LayerRig::compare_gradient(const std::string& what, Blob& values, const std::vector<float>& gradient, float step,
                                float tolerance, bool skip_kinks) {
  std::vector<float> host = values.data_vector();
  const double middle = objective();
  std::size_t compared = 0;
  for (std::size_t e = 0; e < host.size(); ++e) {
    const float old = host[e];
    host[e] = old + step;
    values.write_data(host.data());
    const double above = objective();
    host[e] = old - step;
    values.write_data(host.data());
    const double below = objective();
    host[e] = old;
    const double slope = (above - below) / (2.0 * step);
    const double bend = std::fabs(above + below - 2 * middle) / step;
    const double scale = std::max({1.0, std::fabs(slope), std::fabs(double{gradient[e]})});
    if (skip_kinks && bend > 0.1 * scale) continue;
    ++compared;
    EXPECT_NEAR(gradient[e], slope, tolerance * scale) << what << ", element " << e;
    if (::testing::Test::HasFailure()) break;
  }
  values.write_data(host.data());
  if (!::testing::Test::HasFailure()) { EXPECT_GE(2 * compared, host.size()) << what << ": too many kinks"; }
}

}  // namespace cortado::test
