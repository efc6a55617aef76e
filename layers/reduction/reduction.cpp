#include "core/formats/caffe.pb.h"
#include "core/machine/launch_elementwise.h"
#include "core/net/layer_table.h"
#include "layers/reduction/programs.h"

namespace cortado {
namespace {
Reduce what(const caffe::ReductionParameter& p) {
  switch (p.operation()) {
    case caffe::ReductionParameter::ASUM: return Reduce::absolutes;
    case caffe::ReductionParameter::SUMSQ: return Reduce::squares;
    default: return Reduce::sum;
  }
}

/// Caffe's Reduction: the axes from `axis` on become one value, coeff times their sum, mean, sum of absolute values or
/// sum of squares.
class ReductionLayer : public Layer {
 public:
  using Layer::Layer;
  void reshape(const Blobs& bottom, const Blobs& top) override {
    const int wanted = parameter().reduction_param().axis();
    const int axis = bottom[0]->axes() == 0 && wanted == 0 ? 0 : bottom[0]->canonical_axis(wanted);
    rows_ = bottom[0]->count(0, axis);
    width_ = bottom[0]->count(axis);
    top[0]->reshape({bottom[0]->shape().begin(), bottom[0]->shape().begin() + axis});
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    const RowLines rows{rows_, width_, line_elements(group().spec(), width_, 3)};
    PlanBuilder book(group().spec());
    const ReduceRows p{what(parameter().reduction_param()), reads(book, "x", bottom[0]->data(), rows),
                       writes(book, "sum", top[0]->mutable_data(), RowLines::whole(rows_)), factor()};
    group().launch(p, book.plan(rows_));
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    const auto run = [&](const auto& gradient) {
      elementwise(group(), rows_, width_, gradient, from(bottom[0]->data(), per_row(top[0]->diff(), rows_)),
                  to(bottom[0]->mutable_diff()));
    };
    switch (what(parameter().reduction_param())) {
      case Reduce::sum: return run(ReduceGradient<Reduce::sum>{factor()});
      case Reduce::absolutes: return run(ReduceGradient<Reduce::absolutes>{factor()});
      case Reduce::squares: return run(ReduceGradient<Reduce::squares>{factor()});
    }
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto n = static_cast<double>(bottom[0]->count());
    return {n, n, 4 * n, 8 * n};
  }

 private:
  float factor() const {
    const auto& p = parameter().reduction_param();
    const bool mean = p.operation() == caffe::ReductionParameter::MEAN;
    return mean && width_ > 0 ? p.coeff() / static_cast<float>(width_) : p.coeff();
  }

  i64 rows_ = 1, width_ = 1;
};

}  // namespace

void add_reduction(LayerTable& table) { table.add<ReductionLayer>("Reduction"); }

}  // namespace cortado
