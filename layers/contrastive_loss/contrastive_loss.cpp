#include <algorithm>
#include <cmath>

#include "core/machine/launch_elementwise.h"
#include "core/net/layer_table.h"
#include "layers/contrastive_loss/programs.h"
#include "layers/loss/loss.h"

namespace cortado {
namespace {

/// Caffe's ContrastiveLoss of pairs of features (N x C each) at distance d; the third bottom (N) says whether they are
/// similar. The loss is d^2 for similar pairs and max(margin - d, 0)^2 for others (max(margin - d^2, 0) with
/// legacy_version), summed and divided by 2 N.
class ContrastiveLossLayer : public LossLayer {
 public:
  using LossLayer::LossLayer;
  Arity bottoms() const override { return {3, 3}; }
  bool allows_backward_to(std::size_t i) const override { return i < 2; }
  void setup(const Blobs&, const Blobs&) override { factors_ = std::make_unique<Blob>(group()); }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    if (bottom[0]->shape() != bottom[1]->shape() || bottom[0]->axes() < 1 || bottom[0]->count() == 0)
      bad_shape("expects features of equal shapes, the bottoms have " + to_string(bottom[0]->shape()) + " and " +
                to_string(bottom[1]->shape()));
    pairs_ = bottom[0]->dim(0);
    width_ = bottom[0]->count(1);
    if (bottom[2]->count() != pairs_)
      bad_shape(std::to_string(pairs_) + " pairs need as many labels, the third bottom has shape " +
                to_string(bottom[2]->shape()));
    factors_->reshape({pairs_});
    top[0]->reshape({});
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    const RowLines rows{pairs_, width_, line_elements(group().spec(), width_, 5)};
    PlanBuilder book(group().spec());
    const SquaredDistances p{reads(book, "a", bottom[0]->data(), rows), reads(book, "b", bottom[1]->data(), rows),
                             writes(book, "sum", factors_->mutable_data(), RowLines::whole(pairs_))};
    group().launch(p, book.plan(pairs_));
    auto factors = factors_->data_vector();
    const auto similar = bottom[2]->data_vector();
    double sum = 0;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      if (!std::isfinite(similar[i]))
        bad_config("whether pair " + std::to_string(i) + " of this batch is similar is " + std::to_string(similar[i]),
                   "give 0 or 1: check the data");
      const Term t = term(double{factors[i]}, std::trunc(similar[i]) != 0);  // as Caffe, which makes integers of them
      sum += t.loss;
      factors[i] = static_cast<float>(t.factor / static_cast<double>(pairs_));
    }
    factors_->write_data(factors.data());
    const auto loss = static_cast<float>(sum / static_cast<double>(2 * pairs_));
    top[0]->write_data(&loss);
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    for (std::size_t i = 0; i < 2; ++i)
      if (propagate_down[i])
        elementwise(group(), pairs_, width_, ScaledDifferences{i == 0 ? 1.0f : -1.0f},
                    from(bottom[0]->data(), bottom[1]->data(), per_row(factors_->data(), pairs_), one(top[0]->diff())),
                    to(bottom[i]->mutable_diff()));
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto n = static_cast<double>(bottom[0]->count());
    return {3 * n, 4 * n, 8 * n, 24 * n};
  }

 private:
  struct Term {
    double loss, factor;  // the pair's part of the loss; its gradient is `factor` times the difference of features
  };
  Term term(double squared_distance, bool similar) const {
    const auto& p = parameter().contrastive_loss_param();
    const double margin = double{p.margin()};
    if (similar) return {squared_distance, 1};
    if (p.legacy_version()) {
      const double room = margin - squared_distance;
      return {std::max(room, 0.0), room > 0 ? -1.0 : 0.0};
    }
    const double distance = std::sqrt(squared_distance), room = margin - distance;
    constexpr double least_distance = 1e-4;  // Caffe's, which keeps the gradient of equal features finite
    return {room > 0 ? room * room : 0, room > 0 ? -room / (distance + least_distance) : 0};
  }

  i64 pairs_ = 1, width_ = 1;
  std::unique_ptr<Blob> factors_;  // squared distances of pairs, then the factors of their gradients
};

}  // namespace

void add_contrastive_loss(LayerTable& table) { table.add<ContrastiveLossLayer>("ContrastiveLoss"); }

}  // namespace cortado
