#pragma once
#include "core/base/error.h"
#include "core/formats/blob_proto.h"
#include "core/formats/caffe.pb.h"
#include "core/net/net.h"

// Layers that compute on the host, small enough to be seen through: the net's own tests need no others.
namespace cortado::test {

/// Shapes its tops by input_param; the caller fills them.
class SmallInput : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {0, 0}; }
  Arity tops() const override { return {1, -1}; }
  bool is_filled_by_caller() const override { return true; }
  void setup(const Blobs&, const Blobs& top) override {
    for (std::size_t i = 0; i < top.size(); ++i)
      top[i]->reshape(shape_of(parameter().input_param().shape(static_cast<int>(i))));
  }
  void reshape(const Blobs&, const Blobs&) override {}
  void forward(const Blobs&, const Blobs&) override {}
  void backward(const Blobs&, const std::vector<bool>&, const Blobs&) override {}
};

/// top = factor * bottom, with a learnable blob of inner_product_param.num_output factors of which the sum counts. May
/// run in place.
class SmallScale : public Layer {
 public:
  using Layer::Layer;
  bool can_run_in_place() const override { return true; }
  void setup(const Blobs&, const Blobs&) override {
    const auto& p = parameter().inner_product_param();
    add_parameter(p.transpose() ? Shape{1, p.num_output()} : Shape{p.num_output()}, p.weight_filler());
  }
  void reshape(const Blobs& bottom, const Blobs& top) override { top[0]->reshape(bottom[0]->shape()); }
  void forward(const Blobs& bottom, const Blobs& top) override {
    kept_ = bottom[0]->data_vector();
    auto y = kept_;
    for (float& v : y) v *= factor();
    top[0]->write_data(y.data());
  }
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    auto d = top[0]->diff_vector();
    if (param_propagate_down(0)) {
      auto g = blobs()[0]->diff_vector();
      for (float& v : g)
        for (std::size_t i = 0; i < d.size(); ++i) v += d[i] * kept_[i];
      blobs()[0]->write_diff(g.data());
    }
    for (float& v : d) v *= factor();
    if (propagate_down[0]) bottom[0]->write_diff(d.data());
    ++backward_calls;
  }
  int backward_calls = 0;

 private:
  float factor() const {
    float sum = 0;
    for (const float v : blobs()[0]->data_vector()) sum += v;
    return sum;
  }
  std::vector<float> kept_;
};

/// top = bottom; not in place.
class SmallCopy : public Layer {
 public:
  using Layer::Layer;
  void reshape(const Blobs& bottom, const Blobs& top) override { top[0]->reshape(bottom[0]->shape()); }
  void forward(const Blobs& bottom, const Blobs& top) override { top[0]->write_data(bottom[0]->data_vector().data()); }
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (propagate_down[0]) bottom[0]->write_diff(top[0]->diff_vector().data());
  }
};

class SmallSplit : public Layer {
 public:
  using Layer::Layer;
  static constexpr Role role = Role::split;
  Arity tops() const override { return {1, -1}; }
  void reshape(const Blobs& bottom, const Blobs& top) override {
    for (Blob* t : top) t->reshape(bottom[0]->shape());
  }
  void forward(const Blobs& bottom, const Blobs& top) override {
    for (Blob* t : top) t->write_data(bottom[0]->data_vector().data());
  }
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    std::vector<float> sum(static_cast<std::size_t>(bottom[0]->count()), 0.0f);
    for (const Blob* t : top) {
      const auto d = t->diff_vector();
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += d[i];
    }
    if (propagate_down[0]) bottom[0]->write_diff(sum.data());
  }
};

/// The sum of bottom 0; bottom 1, if any, is a label that nothing depends on.
class SmallLoss : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {1, 2}; }
  bool is_loss() const override { return true; }
  bool allows_backward_to(std::size_t i) const override { return i == 0; }
  void reshape(const Blobs&, const Blobs& top) override { top[0]->reshape({}); }
  void forward(const Blobs& bottom, const Blobs& top) override {
    float sum = 0;
    for (const float v : bottom[0]->data_vector()) sum += v;
    top[0]->write_data(&sum);
  }
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    const std::vector<float> d(static_cast<std::size_t>(bottom[0]->count()), top[0]->diff_vector()[0]);
    if (propagate_down[0]) bottom[0]->write_diff(d.data());
  }
};

/// The first bottom, whose shape must be the second's, of which nothing else is used.
class SmallLike : public SmallCopy {
 public:
  using SmallCopy::SmallCopy;
  Arity bottoms() const override { return {2, 2}; }
  bool allows_backward_to(std::size_t i) const override { return i == 0; }
  bool uses_shape_only(std::size_t i) const override { return i == 1; }
};

/// Passes on and keeps one running statistic of 3 values.
class SmallStatistic : public SmallCopy {
 public:
  using SmallCopy::SmallCopy;
  bool is_statistic(std::size_t) const override { return true; }
  void setup(const Blobs&, const Blobs&) override { add_parameter({3}, caffe::FillerParameter()); }
};

/// Has a choice of candidates, and reports it.
class SmallChoice : public SmallCopy {
 public:
  using SmallCopy::SmallCopy;
  PlanBook plans() const override { return {{"forward", chosen_}}; }
  void choose_plans(const PlanBook& wanted) override {
    const auto found = wanted.find("forward");
    if (found == wanted.end()) return;
    if (found->second == "impossible") throw PlanError("", "it does not fit");
    chosen_ = found->second;
  }

 private:
  std::string chosen_ = "plain";
};

inline LayerTable small_layers() {
  LayerTable table;
  table.add<SmallInput>("Input");
  table.add<SmallSplit>("Split");
  table.add<SmallScale>("Scale");
  table.add<SmallCopy>("Copy");
  table.add<SmallLike>("Like");
  table.add<SmallLoss>("Loss");
  table.add<SmallStatistic>("Statistic");
  table.add<SmallChoice>("Choice");
  return table;
}

}  // namespace cortado::test
