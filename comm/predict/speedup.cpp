#include "comm/predict/speedup.h"

#include <algorithm>
#include <limits>
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

  /// A layer whose gradients travel, in seconds: of its sum, and from the begin of backward when they exist and when
  /// they are sums.
  struct Gradients {
    const LayerWork* layer;
    double sum, made, summed = 0;
  };

  /// The gradients of all layers that are parallel over data, those without parameters too, in forward order. All of
  /// backward takes `end`.
  std::vector<Gradients> gradients(double& end) const {
    std::vector<Gradients> made;
    i64 all = 0;
    for (auto layer = work_.layers.rbegin(); layer != work_.layers.rend(); ++layer) {
      if (is_apart(*layer)) continue;
      end += layer->backward + layer->update;
      all += layer->parameters;
      made.push_back({&*layer, 0, end});
    }
    for (Gradients& of : made) {
      const i64 own = of.layer->parameters;
      if (own == 0) continue;
      if (how_.hidden_behind != HiddenBehind::nothing) {
        of.sum = sum(own);
      } else {  // together: a layer's part is by its share, nothing says which of them waits
        of.sum = sum(all) * static_cast<double>(own) / static_cast<double>(all);
        of.made = end;
      }
    }
    std::reverse(made.begin(), made.end());
    return made;
  }

  void add_gradients() {
    if (result_.devices == 1) return;
    double end = 0;
    std::vector<Gradients> all = gradients(end);
    const bool forward_waits = how_.hidden_behind == HiddenBehind::next_forward;
    const std::vector<double> exposed = forward_waits ? exposed_in_forward(all, end) : exposed_after_backward(all, end);
    for (std::size_t i = all.size(); i-- > 0;) {
      if (all[i].layer->parameters == 0) continue;
      result_.messages.push_back(
          {all[i].layer->name, "gradients", coding_.bytes(all[i].layer->parameters), all[i].sum, exposed[i]});
      result_.exposed_gradients += exposed[i];
    }
  }

  /// A layer's gradients are sent when they exist and those before have been sent.
  static std::vector<double> exposed_after_backward(const std::vector<Gradients>& all, double end) {
    std::vector<double> exposed(all.size());
    double free = 0;
    for (std::size_t i = all.size(); i-- > 0;) {
      const double begin = std::max(free, all[i].made);
      free = begin + all[i].sum;
      exposed[i] = std::max(0.0, free - std::max(begin, end));
    }
    return exposed;
  }

  /// The lowest layer's gradients among the existing ones travel first, whatever is under way.
  static void send_lowest_first(std::vector<Gradients>& all) {
    // From the top down layers come to exist: each goes ahead of those above it, into which it cuts.
    struct Left {
      std::size_t index;
      double seconds;
    };
    std::vector<Left> under_way;  // the last one is the lowest
    double now = 0;
    const auto send_until = [&](double until) {
      while (!under_way.empty() && now < until) {
        Left& next = under_way.back();
        const double sent = std::min(next.seconds, until - now);
        now += sent;
        next.seconds -= sent;
        if (next.seconds > 0) return;
        all[next.index].summed = now;
        under_way.pop_back();
      }
    };
    for (std::size_t i = all.size(); i-- > 0;) {
      send_until(all[i].made);
      now = std::max(now, all[i].made);
      under_way.push_back({i, all[i].sum});
    }
    send_until(std::numeric_limits<double>::infinity());
  }

  static std::vector<double> exposed_in_forward(std::vector<Gradients>& all, double end) {
    send_lowest_first(all);
    std::vector<double> exposed(all.size());
    double now = end;
    for (std::size_t i = 0; i < all.size(); ++i) {
      exposed[i] = std::max(0.0, all[i].summed - now);
      now += exposed[i] + all[i].layer->forward;
    }
    return exposed;
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
