#include <algorithm>
#include <map>
#include <set>

#include "app/deploy/deployed_net.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/close_name.h"

namespace cortado {
namespace {
/// What stays of a layer that scores: nothing, what it makes of its first bottom before it looks at labels, or bottoms.
enum class Rest { nothing, softmax, sigmoid, first, both };

const std::map<std::string, Rest>& scoring_layers() {
  static const std::map<std::string, Rest> all = {
      {"Accuracy", Rest::nothing},     {"Silence", Rest::nothing},
      {"HDF5Output", Rest::nothing},   {"SoftmaxWithLoss", Rest::softmax},
      {"InfogainLoss", Rest::softmax}, {"SigmoidCrossEntropyLoss", Rest::sigmoid},
      {"EuclideanLoss", Rest::first},  {"HingeLoss", Rest::first},
      {"ContrastiveLoss", Rest::both}, {"MultinomialLogisticLoss", Rest::first}};
  return all;
}

bool is_data(const caffe::LayerParameter& layer) {
  return layer.bottom_size() == 0 && layer.type() != "Input" && layer.type() != "Parameter";
}

float weight_of(const caffe::LayerParameter& loss) { return loss.loss_weight_size() > 0 ? loss.loss_weight(0) : 1; }

/// Makes a training net one that is used, step by step.
class Deployment {
 public:
  Deployment(const caffe::NetParameter& training, const DeployOptions& options) : options_(options), net_(training) {
    net_.clear_layer();
    net_.clear_state();
    for (const auto& layer : training.layer()) {
      names_.insert(layer.name());
      names_.insert(layer.top().begin(), layer.top().end());
      made_.insert(layer.top().begin(), layer.top().end());
    }
  }

  caffe::NetParameter made_of(const caffe::NetParameter& training,
                              const std::function<Shape(const std::string&)>& shape_of) {
    for (const auto& layer : training.layer())
      if (is_data(layer))
        add_inputs(layer, shape_of);
      else if (scoring_layers().count(layer.type()) == 0)
        add(layer);
    add_outputs(training);
    keep_what_matters();
    return std::move(net_);
  }

 private:
  void add(const caffe::LayerParameter& layer) {
    auto& added = *net_.add_layer() = layer;
    added.clear_include();
    added.clear_exclude();
    added.clear_loss_weight();
    added.clear_propagate_down();
  }

  /// An Input for each top. The first, which images come out of, keeps what is done to pixels in testing.
  void add_inputs(const caffe::LayerParameter& data, const std::function<Shape(const std::string&)>& shape_of) {
    for (int i = 0; i < data.top_size(); ++i) {
      auto& input = *net_.add_layer();
      input.set_name(data.top_size() == 1 || i == 0 ? data.name() : data.top(i));
      input.set_type("Input");
      input.add_top(data.top(i));
      Shape shape = shape_of(data.top(i));
      if (!shape.empty()) shape[0] = options_.batch;
      auto& to = *input.mutable_input_param()->add_shape();
      for (const i64 d : shape) to.add_dim(d);
      const bool unknown = data.type() == "HDF5Data" || data.type() == "DummyData";  // what was done to such data
      if (i > 0 || (unknown && !data.has_transform_param())) continue;
      const auto& from = data.transform_param();
      auto& kept = *input.mutable_transform_param();  // there even if it says nothing: pixels go in as they are
      if (from.has_scale()) kept.set_scale(from.scale());
      if (from.has_mean_file()) kept.set_mean_file(from.mean_file());
      *kept.mutable_mean_value() = from.mean_value();
    }
  }

  std::string free_name(const std::string& wished, const std::string& otherwise) {
    for (std::string name = wished;; name = otherwise + (name == otherwise ? "_" : ""))
      if (names_.insert(name).second || name == otherwise) return name;
  }

  void add_activation(const std::string& type, const caffe::LayerParameter& loss) {
    auto& layer = *net_.add_layer();
    const std::string name = free_name("prob", loss.name());
    layer.set_name(name);
    layer.set_type(type);
    layer.add_bottom(loss.bottom(0));
    layer.add_top(name);
    if (loss.has_softmax_param()) *layer.mutable_softmax_param() = loss.softmax_param();
    if (loss.type() == "InfogainLoss") layer.mutable_softmax_param()->set_axis(loss.infogain_loss_param().axis());
    wanted_.insert(name);
  }

  void add_outputs(const caffe::NetParameter& training) {
    const auto rest = [](const caffe::LayerParameter& layer) {
      const auto found = scoring_layers().find(layer.type());
      return found == scoring_layers().end() || layer.bottom_size() == 0 ? Rest::nothing : found->second;
    };
    float most = 0;
    for (const auto& layer : training.layer())
      if (rest(layer) != Rest::nothing) most = std::max(most, weight_of(layer));
    for (const auto& layer : training.layer()) {
      const Rest kept = rest(layer);
      if (kept == Rest::nothing || !options_.outputs.empty()) continue;
      if (weight_of(layer) < most) {
        CORTADO_LOG(info) << "Left out: loss '" << layer.name() << "', of less weight than others (--outputs keeps it)";
        continue;
      }
      if (kept == Rest::softmax) add_activation("Softmax", layer);
      if (kept == Rest::sigmoid) add_activation("Sigmoid", layer);
      if (kept == Rest::first || kept == Rest::both) wanted_.insert(layer.bottom(0));
      if (kept == Rest::both && layer.bottom_size() > 1) wanted_.insert(layer.bottom(1));
    }
    for (const auto& blob : options_.outputs) {
      if (made_.count(blob) == 0) {
        const std::string close = close_name(blob, {made_.begin(), made_.end()});
        throw ConfigError("--outputs " + blob, "net '" + net_.name() + "' has no such blob in phase TEST",
                          close.empty() ? "cortado draw shows its blobs" : "did you mean " + close + "?");
      }
      wanted_.insert(blob);
    }
    if (wanted_.empty()) want_what_nobody_reads();
  }

  void want_what_nobody_reads() {
    std::set<std::string> read, inputs;
    for (const auto& layer : net_.layer()) {
      for (const auto& bottom : layer.bottom())
        if (std::count(layer.top().begin(), layer.top().end(), bottom) == 0) read.insert(bottom);
      if (layer.bottom_size() == 0) inputs.insert(layer.top().begin(), layer.top().end());
    }
    for (const auto& layer : net_.layer())
      for (const auto& top : layer.top())
        if (read.count(top) == 0 && inputs.count(top) == 0) wanted_.insert(top);
    if (wanted_.empty())
      throw ConfigError("net '" + net_.name() + "'", "has no output in phase TEST", "give --outputs");
  }

  /// Drops the layers, and tops of data layers, that no wanted blob depends on.
  void keep_what_matters() {
    std::set<std::string> needed = wanted_;
    std::vector<int> kept;
    for (int i = net_.layer_size() - 1; i >= 0; --i) {
      const auto& layer = net_.layer(i);
      if (std::none_of(layer.top().begin(), layer.top().end(),
                       [&](const std::string& top) { return needed.count(top) > 0; }))
        continue;
      kept.insert(kept.begin(), i);
      needed.insert(layer.bottom().begin(), layer.bottom().end());
    }
    caffe::NetParameter all;
    all.Swap(&net_);
    net_ = all;
    net_.clear_layer();
    for (const int i : kept) *net_.add_layer() = all.layer(i);
  }

  const DeployOptions& options_;
  caffe::NetParameter net_;
  std::set<std::string> names_, made_, wanted_;
};
}  // namespace

bool reads_data(const caffe::NetParameter& net) { return std::any_of(net.layer().begin(), net.layer().end(), is_data); }

caffe::NetParameter without_training(const caffe::NetParameter& training, const DeployOptions& options,
                                     const std::function<Shape(const std::string& blob)>& shape_of) {
  return Deployment(training, options).made_of(training, shape_of);
}

}  // namespace cortado
