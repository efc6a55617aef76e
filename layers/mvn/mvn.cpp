#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/mvn/programs.h"

namespace cortado {
namespace {

/// Caffe's MVN: every plane (every sample, with across_channels) gets mean 0 and, with normalize_variance, deviation 1:
/// y = (x - mean) / (deviation + eps). It may run in place.
class MvnLayer : public Layer {
 public:
  using Layer::Layer;
  bool can_run_in_place() const override { return true; }
  void setup(const Blobs&, const Blobs&) override { deviation_ = std::make_unique<Blob>(group()); }

  void reshape(const Blobs& bottom, const Blobs& top) override {
    const int axis = parameter().mvn_param().across_channels() ? 1 : 2;
    if (bottom[0]->axes() < axis)
      bad_shape("expects N x C x ..., the bottom has shape " + to_string(bottom[0]->shape()));
    const i64 width = bottom[0]->count(axis);
    rows_ = {bottom[0]->count(0, axis), width, line_elements(group().spec(), width, 6)};
    deviation_->reshape({rows_.rows});
    top[0]->reshape_like(*bottom[0]);
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    const auto& p = parameter().mvn_param();
    const RowLines each = RowLines::whole(rows_.rows, 1);
    PlanBuilder book(group().spec());
    const MvnForward program{
        reads(book, "x", bottom[0]->data(), rows_), writes(book, "y", top[0]->mutable_data(), rows_),
        writes(book, "deviation", deviation_->mutable_data(), each), p.eps(), p.normalize_variance()};
    group().launch(program, book.plan(rows_.rows));
  }

  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    const RowLines each = RowLines::whole(rows_.rows, 1);
    PlanBuilder book(group().spec());
    const MvnBackward program{reads(book, "y", top[0]->data(), rows_), reads(book, "dy", top[0]->diff(), rows_),
                              reads(book, "deviation", deviation_->data(), each),
                              writes(book, "dx", bottom[0]->mutable_diff(), rows_),
                              parameter().mvn_param().normalize_variance()};
    group().launch(program, book.plan(rows_.rows));
  }

  Cost cost(const Blobs& bottom, const Blobs&) const override {
    const auto n = static_cast<double>(bottom[0]->count());
    return {6 * n, 8 * n, 16 * n, 20 * n};
  }

 private:
  RowLines rows_{};
  std::unique_ptr<Blob> deviation_;  // of each row
};

}  // namespace

void add_mvn(LayerTable& table) { table.add<MvnLayer>("MVN"); }

}  // namespace cortado
