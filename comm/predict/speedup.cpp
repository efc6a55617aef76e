#include "comm/predict/speedup.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"

namespace cortado {
namespace {

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

class Predictor {
 public:
  Predictor(const Work& work, const Links& links, const Coding& coding, const Parallelism& how, int devices)
      : work_(work), links_(links), coding_(coding), how_(how) {
    result_.devices = devices;
    const i64 all = work.batch * devices;
    sub_batch_ = how.sub_batch > 0 ? how.sub_batch : work.batch;
    if (sub_batch_ > all)
      throw ConfigError("sub-batch",
                        std::to_string(sub_batch_) + " samples are more than the " + std::to_string(all) + " of all " +
                            std::to_string(devices) + " devices together",
                        "choose a smaller one, or more devices");
    for (const LayerWork& layer : work.layers)
      if (is_apart(layer)) apart_.push_back(layer);
    if (!apart_.empty()) result_.passes = (all + sub_batch_ - 1) / sub_batch_;
  }

  Prediction run() {
    double apart = 0;
    for (const LayerWork& layer : apart_) apart += layer.seconds();
    result_.data_parallel = work_.iteration - apart;
    add_gradients();
    if (!apart_.empty()) add_apart();
    result_.iteration =
        result_.data_parallel + result_.fully_connected + result_.exposed_gradients + result_.exposed_activations;
    if (result_.iteration > 0) result_.speedup = result_.devices * work_.iteration / result_.iteration;
    return result_;
  }

 private:
  bool is_apart(const LayerWork& layer) const {
    return layer.fully_connected && how_.fully_connected != FullyConnected::data && result_.devices > 1;
  }
  double sum(i64 values) const {
    return how_.sum ? how_.sum(result_.devices, values) : sum_seconds(links_, coding_, result_.devices, values);
  }

  /// Backward from the last layer on: a layer's gradients are sent when they exist and those before have been sent.
  void add_gradients() {
    double now = 0, free = 0, end = 0;  // of the device, of its link, of backward
    i64 all = 0;
    for (const LayerWork& layer : work_.layers) {
      if (is_apart(layer)) continue;
      end += layer.backward + layer.update;
      all += layer.parameters;
    }
    if (result_.devices == 1 || all == 0) return;
    for (auto layer = work_.layers.rbegin(); layer != work_.layers.rend(); ++layer) {
      if (is_apart(*layer)) continue;
      now += layer->backward + layer->update;
      if (layer->parameters == 0) continue;
      // Together, a layer's part is by its share: nothing says which of them waits.
      const double seconds = how_.overlap
                                 ? sum(layer->parameters)
                                 : sum(all) * static_cast<double>(layer->parameters) / static_cast<double>(all);
      const double begin = std::max(free, how_.overlap ? now : end);
      free = begin + seconds;
      const double exposed = std::max(0.0, free - std::max(begin, end));
      result_.messages.push_back({layer->name, "gradients", coding_.bytes(layer->parameters), seconds, exposed});
      result_.exposed_gradients += exposed;
    }
  }

  void add_apart() {
    const double part = static_cast<double>(sub_batch_) / static_cast<double>(work_.batch);
    const bool divided = how_.fully_connected == FullyConnected::model;
    const double share = part / (divided ? result_.devices * how_.divided_efficiency : 1);
    for (LayerWork& layer : apart_) layer.forward *= share, layer.backward *= share, layer.update *= share;
    double pass = 0;
    for (const LayerWork& layer : apart_) pass += layer.seconds();
    result_.fully_connected = static_cast<double>(result_.passes) * pass;
    if (divided)
      add_divided();
    else
      add_whole();
  }

  LayerMessages message(const LayerWork& layer, const char* what, i64 values_a_sample) const {
    const i64 values = sub_batch_ * values_a_sample;
    return {layer.name, what, coding_.bytes(values), gather_seconds(links_, coding_, result_.devices, values), 0};
  }
  void add(const LayerMessages& message) {
    result_.messages.push_back(message);
    result_.exposed_activations += message.exposed;
  }

  void add_divided() {
    std::vector<LayerMessages> inputs, errors;
    for (const LayerWork& layer : apart_) {
      inputs.push_back(message(layer, "activations", layer.inputs));
      errors.push_back(message(layer, "errors", layer.outputs));
    }
    std::vector<double> seconds;
    for (const LayerMessages& one : inputs) seconds.push_back(one.seconds);
    seconds.push_back(errors.back().seconds);
    const Remainders left = remainders_of(apart_, seconds);
    const auto passes = static_cast<double>(result_.passes), counted = how_.count_one_pass ? 1 : passes;
    for (std::size_t i = 0; i < apart_.size(); ++i) {
      inputs[i].exposed = counted * left.inputs[i];
      errors[i].exposed = counted * left.errors[i];
    }
    // Nothing hides the first activations that come from convolutions and the last errors that go there: the paper
    // counts one for every pass and one more.
    if (how_.count_one_pass)
      inputs[0].exposed += (passes + 1) * inputs[0].seconds;
    else
      inputs[0].exposed += 2 * inputs[0].seconds - left.inputs[0];
    for (const LayerMessages& one : inputs) add(one);
    for (auto one = errors.rbegin(); one != errors.rend(); ++one) add(*one);
  }

  void add_whole() {
    LayerMessages inputs = message(apart_[0], "activations", apart_[0].inputs);
    if (how_.count_one_pass)
      inputs.exposed = full_pass_of(inputs.seconds, apart_[0].forward, links_.nodes(result_.devices) - 1);
    else
      inputs.exposed =
          inputs.seconds + static_cast<double>(result_.passes - 1) * remainder_of(inputs.seconds, apart_[0].forward);
    add(inputs);
  }

  const Work& work_;
  const Links& links_;
  const Coding& coding_;
  const Parallelism& how_;
  i64 sub_batch_ = 0;
  std::vector<LayerWork> apart_;  // not parallel over data; with a pass's seconds once known
  Prediction result_;
};

}  // namespace

double speedup_of(int devices, double total, double fully_connected, double convolution_penalty, double passes,
                  double pass, double penalty) {
  return devices * total / (total - fully_connected + convolution_penalty + passes * pass + penalty);
}

double remainder_of(double message, double work) { return std::max(0.0, message - work); }

double Remainders::sum() const { return sum_of(inputs) + sum_of(errors); }

Remainders remainders_of(const std::vector<LayerWork>& layers, const std::vector<double>& messages) {
  Remainders left;
  double updates = 0;
  for (const LayerWork& layer : layers) updates += layer.update;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    left.inputs.push_back(remainder_of(messages[i], layers[i].forward));
    left.errors.push_back(remainder_of(messages[i + 1], i > 0 ? layers[i - 1].backward : updates));
  }
  return left;
}

double full_pass_of(double message, double work, int others) {
  return message <= work ? message : others * remainder_of(message, work);
}

Prediction predict(const Work& work, const Links& links, const Coding& coding, const Parallelism& how, int devices) {
  return Predictor(work, links, coding, how, devices).run();
}

}  // namespace cortado
