#include "comm/predict/division.h"

#include <algorithm>

namespace cortado {
namespace {

/// Below this share of what it was, an iteration is worth a division, or twice as many sub-batches: the model has no
/// term for what smaller products and more messages cost besides.
constexpr double worth_it = 0.999;

/// Messages of the rows of one sub-batch, from all devices to all.
class Messages {
 public:
  Messages(const Links& links, const Coding& coding, int devices, i64 rows)
      : links_(links), coding_(coding), devices_(devices), rows_(rows) {}

  /// Everybody gets everybody's rows.
  double gather(i64 width) const { return seconds(rows_ * width, rows_ * width); }
  /// Everybody gets terms of the sums that are its rows.
  double sum(i64 width) const { return seconds(rows_ * width, (devices_ - 1) * rows_ * width); }
  /// Everybody gets columns of everybody's rows, or gives them back.
  double columns(i64 width) const {
    const i64 each = rows_ * width / devices_;
    return seconds(each, (devices_ - 1) * each);
  }

 private:
  double seconds(i64 sent_to_each, i64 encoded) const {
    return links_.to_all(devices_, devices_ * coding_.bytes(sent_to_each)) +
           static_cast<double>(encoded) * coding_.encode +
           static_cast<double>((devices_ - 1) * sent_to_each) * coding_.decode;
  }

  const Links& links_;
  const Coding& coding_;
  const int devices_;
  const i64 rows_;
};

double exposed_of(const LayerWork& layer, const Messages& messages, bool outputs_divided, i64 sub_batches) {
  const i64 in = layer.inputs, out = layer.outputs;
  const double x = outputs_divided ? messages.gather(in) : messages.columns(in);
  const double y = outputs_divided ? messages.columns(out) : messages.sum(out);
  const double dy = outputs_divided ? messages.columns(out) : messages.gather(out);
  const double dx = outputs_divided ? messages.sum(in) : messages.columns(in);
  const auto parts = static_cast<double>(sub_batches);
  const double forward = exposed_in(sub_batches, x, layer.forward / parts, y, 0);
  if (layer.backward == 0) return forward + exposed_in(sub_batches, dy, layer.update / parts, 0, 0);  // first of a net
  return forward + exposed_in(sub_batches, dy, layer.backward / parts, dx, layer.update);
}

class Divider {
 public:
  Divider(const Work& work, const Links& links, const Coding& coding, const Parallelism& how, int devices)
      : work_(work), links_(links), coding_(coding), how_(how), devices_(devices) {
    how_.fully_connected = FullyConnected::data;
  }

  std::vector<DividedLayer> run() {
    std::vector<DividedLayer> all;
    if (devices_ == 1) return all;
    for (auto layer = work_.layers.rbegin(); layer != work_.layers.rend(); ++layer)
      if (layer->fully_connected) all.push_back(look_at(*layer));
    std::reverse(all.begin(), all.end());
    return all;
  }

 private:
  double iteration() const { return predict(work_, links_, coding_, how_, devices_).iteration + exposed_; }

  DividedLayer look_at(LayerWork& layer) {
    DividedLayer result;
    result.name = layer.name;
    result.undivided = iteration();
    const i64 weights = std::min(layer.parameters, layer.inputs * layer.outputs);
    layer.parameters -= weights;
    const double rest = iteration();
    if (layer.outputs >= devices_) result.outputs = best_way(layer, true, rest);
    if (layer.inputs >= devices_) result.inputs = best_way(layer, false, rest);
    switch (result.choice()) {
      case DividedLayer::Choice::undivided: layer.parameters += weights; break;
      case DividedLayer::Choice::outputs: exposed_ += result.outputs.iteration - rest; break;
      case DividedLayer::Choice::inputs: exposed_ += result.inputs.iteration - rest; break;
    }
    return result;
  }

  /// Smaller products are slower: divided_efficiency.
  DividedLayer::Way best_way(const LayerWork& layer, bool outputs_divided, double rest) const {
    DividedLayer::Way best;
    const double slower = layer.seconds() * (1 / how_.divided_efficiency - 1);
    for (i64 k = 1; k <= work_.batch; k *= 2) {
      const Messages messages(links_, coding_, devices_, (work_.batch + k - 1) / k);
      const double seconds = rest + slower + exposed_of(layer, messages, outputs_divided, k);
      if (best.iteration == 0 || seconds < worth_it * best.iteration) best = {seconds, k};
    }
    return best;
  }

  Work work_;  // without the weights of layers that are divided
  const Links& links_;
  const Coding& coding_;
  Parallelism how_;
  const int devices_;
  double exposed_ = 0;  // of the layers that are divided
};

}  // namespace

DividedLayer::Choice DividedLayer::choice() const {
  const auto is_better = [](const Way& way, double than) {
    return way.iteration > 0 && way.iteration < worth_it * than;
  };
  if (is_better(outputs, undivided) && !is_better(inputs, outputs.iteration)) return Choice::outputs;
  return is_better(inputs, undivided) ? Choice::inputs : Choice::undivided;
}

double exposed_in(i64 sub_batches, double there, double work, double back, double after) {
  double now = 0, link = there, came = there;
  for (i64 k = 0; k < sub_batches; ++k) {
    const double comes = came;
    if (k + 1 < sub_batches) came = link = std::max(link, now) + there;
    now = std::max(now, comes) + work;
    link = std::max(link, now) + back;
  }
  const double arithmetic = static_cast<double>(sub_batches) * work + after;
  return std::max(now + after, back > 0 ? link : 0) - arithmetic;
}

std::vector<DividedLayer> predict_divisions(const Work& work, const Links& links, const Coding& coding,
                                            const Parallelism& how, int devices) {
  return Divider(work, links, coding, how, devices).run();
}

}  // namespace cortado
