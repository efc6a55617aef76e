#include "tests/support/toy_layer.h"

#include <limits>

#include "core/base/random.h"
#include "core/formats/caffe.pb.h"
#include "tests/support/layer_rig.h"

namespace cortado::test {

i64 ToyLayer::n() const { return parameter().inner_product_param().num_output(); }
i64 ToyLayer::batch() const { return parameter().inner_product_param().axis(); }

void ToyLayer::setup(const Blobs& /*bottom*/, const Blobs& /*top*/) {
  caffe::FillerParameter weights, zero;
  weights.set_type("uniform");
  weights.set_min(-1);
  zero.set_type("constant");
  add_parameter({n()}, weights);
  add_parameter({1}, zero);
  add_parameter({1}, zero);
}

void ToyLayer::reshape(const Blobs& /*bottom*/, const Blobs& top) {
  for (Blob* blob : top) blob->reshape({});
}

float ToyLayer::target(i64 sample, i64 j) const {
  const auto& broken = parameter().threshold_param();
  if (broken.has_threshold() && sample >= static_cast<i64>(broken.threshold()))
    return std::numeric_limits<float>::quiet_NaN();
  return noise(7, sample * n() + j);
}

float ToyLayer::mask(i64 sample, i64 j) const {
  return random_uniform(random_key(1), static_cast<std::uint64_t>(sample * n() + j)) < 0.5f ? 0.0f : 2.0f;
}

float ToyLayer::error(const std::vector<float>& w, float b, i64 sample, i64 j) const {
  return mask(sample, j) * w[static_cast<std::size_t>(j)] + b - target(sample, j);
}

void ToyLayer::forward(const Blobs& /*bottom*/, const Blobs& top) {
  const auto w = blobs()[0]->data_vector(), b = blobs()[1]->data_vector();
  double loss = 0, score = 0;
  const i64 first = run().first_sample(batch());
  for (i64 s = first; s < first + batch(); ++s)
    for (i64 j = 0; j < n(); ++j) {
      const double e = double{error(w, b[0], s, j)};
      loss += e * e / 2;
      score += double{target(s, j)};
    }
  const auto mean = static_cast<float>(score / static_cast<double>(batch() * n()));
  const auto mean_loss = static_cast<float>(loss / static_cast<double>(batch() * n()));
  top[0]->write_data(&mean_loss);
  if (top.size() > 1) top[1]->write_data(&mean);
  if (run().phase == Phase::train) {
    const float next = 0.9f * blobs()[2]->data_vector()[0] + mean;
    blobs()[2]->write_data(&next);
  }
}

void ToyLayer::backward(const Blobs& top, const std::vector<bool>& /*propagate_down*/, const Blobs& /*bottom*/) {
  const auto w = blobs()[0]->data_vector(), b = blobs()[1]->data_vector();
  auto dw = blobs()[0]->diff_vector(), db = blobs()[1]->diff_vector();
  const float weight = top[0]->diff_vector()[0] / static_cast<float>(batch() * n());
  const i64 first = run().first_sample(batch());
  for (i64 s = first; s < first + batch(); ++s)
    for (i64 j = 0; j < n(); ++j) {
      const float e = weight * error(w, b[0], s, j);
      dw[static_cast<std::size_t>(j)] += e * mask(s, j);
      db[0] += e;
    }
  blobs()[0]->write_diff(dw.data());
  blobs()[1]->write_diff(db.data());
}

void ToyDataLayer::reshape(const Blobs& /*bottom*/, const Blobs& top) {
  const auto& shape = parameter().dummy_data_param().shape(0);
  top[0]->reshape({shape.dim().begin(), shape.dim().end()});
  top[1]->reshape({shape.dim(0)});
}

void ToyDataLayer::forward(const Blobs& /*bottom*/, const Blobs& top) {
  const i64 batch = top[0]->dim(0), each = top[0]->count(1), first = run().first_sample(batch);
  std::vector<float> data, labels;
  for (i64 s = first; s < first + batch; ++s) {
    for (i64 i = 0; i < each; ++i) data.push_back(noise(8, s * each + i));
    labels.push_back(static_cast<float>(random_bits(9, static_cast<std::uint64_t>(s)) %
                                        parameter().inner_product_param().num_output()));
  }
  top[0]->write_data(data.data());
  top[1]->write_data(labels.data());
}

LayerTable with_toys(LayerTable table) {
  table.add<ToyLayer>("Toy");
  table.add<ToyDataLayer>("ToyData");
  return table;
}

std::string toy_net(int n, int batch, const std::string& more) {
  return "name: 'toy' layer { name: 'toy' type: 'Toy' top: 'loss' top: 'score' inner_product_param { num_output: " +
         std::to_string(n) + " axis: " + std::to_string(batch) + " } " + more + " }";
}

}  // namespace cortado::test
