#include <algorithm>

#include "core/formats/caffe.pb.h"
#include "core/net/layer_table.h"
#include "layers/accuracy/programs.h"
#include "layers/loss/labels.h"

namespace cortado {
namespace {

/// Caffe's Accuracy: the share of positions whose label is among the top_k scores. An optional second top has it per
/// class. Ties count against the label. It has no backward.
class AccuracyLayer : public Layer {
 public:
  using Layer::Layer;
  Arity bottoms() const override { return {2, 2}; }
  Arity tops() const override { return {1, 2}; }
  bool allows_backward_to(std::size_t) const override { return false; }
  void reshape(const Blobs& bottom, const Blobs& top) override {
    const auto& p = parameter().accuracy_param();
    const int axis = bottom[0]->canonical_axis(p.axis());
    outer_ = bottom[0]->count(0, axis), classes_ = bottom[0]->dim(axis), inner_ = bottom[0]->count(axis + 1);
    if (p.top_k() < 1 || p.top_k() > classes_)
      bad_config("top_k is " + std::to_string(p.top_k()) + ", there are " + std::to_string(classes_) + " classes");
    if (bottom[1]->count() != outer_ * inner_)
      bad_shape("scores of shape " + to_string(bottom[0]->shape()) + " need " + std::to_string(outer_ * inner_) +
                " labels, the second bottom has shape " + to_string(bottom[1]->shape()));
    top[0]->reshape({});
    if (top.size() > 1) top[1]->reshape({classes_});
  }

  void forward(const Blobs& bottom, const Blobs& top) override {
    const auto& p = parameter().accuracy_param();
    const auto& spec = group().spec();
    const i64 positions = outer_ * inner_;
    const i64 samples = bottom[1]->axes() > 0 ? std::max<i64>(1, bottom[1]->dim(0)) : 1;
    if (!spec.timing_only) {
      const std::string wrong =
          wrong_labels(bottom[1]->data_vector(), {classes_, p.has_ignore_label(), p.ignore_label()},
                       std::max<i64>(1, positions / samples), run().first_sample(samples));
      if (!wrong.empty()) bad_config(wrong, label_advice);
    }
    float* const hit = workspace(positions);

    const i64 fit = spec.scratch_bytes / ((2 * classes_ + 4) * 4) / 32 * 32;
    const ClassPlanes s{{outer_, inner_, std::max<i64>(1, std::min(inner_, fit))}, classes_};
    PlanBuilder book(spec);
    const AccuracyHits hits{reads(book, "scores", bottom[0]->data(), s),
                            reads(book, "labels", bottom[1]->data(), s.positions),
                            writes(book, "hits", hit, s.positions),
                            static_cast<int>(p.top_k()),
                            p.has_ignore_label(),
                            p.ignore_label()};
    group().launch(hits, book.plan(s.lines()));

    const RowLines parts{1, positions, line_elements(spec, positions, 5)};
    const i64 means = top.size() > 1 ? 1 + classes_ : 1;
    PlanBuilder total(spec);
    const AccuracyMeans mean{
        reads(total, "hits", hit, parts), reads(total, "labels", bottom[1]->data(), parts),
        writes(total, "mean", top[0]->mutable_data(), RowLines::whole(1)),
        writes(total, "means of classes", top.size() > 1 ? top[1]->mutable_data() : nullptr, RowLines::whole(classes_)),
        means};
    group().launch(mean, total.plan(means));
  }

  void backward(const Blobs&, const std::vector<bool>& propagate_down, const Blobs&) override {
    if (std::find(propagate_down.begin(), propagate_down.end(), true) != propagate_down.end())
      bad_config("accuracy has no gradient", "do not put it between learning layers and a loss");
  }

 private:
  i64 outer_ = 0, classes_ = 0, inner_ = 0;
};

}  // namespace

void add_accuracy(LayerTable& table) { table.add<AccuracyLayer>("Accuracy"); }

}  // namespace cortado
