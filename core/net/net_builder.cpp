#include "core/net/net_builder.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/formats/prototxt.h"
#include "core/machine/integers.h"
#include "core/net/backward_needs.h"
#include "core/net/known_net.h"
#include "core/net/name_memory.h"
#include "core/net/passes/passes.h"
#include "core/net/recomputation.h"

namespace cortado {
namespace {
std::string place_of(const caffe::LayerParameter& parameter) { return "layer '" + parameter.name() + "'"; }

std::string at_least_or_exactly(const Layer::Arity& arity) {
  if (arity.max == arity.min) return std::to_string(arity.min);
  if (arity.max < 0) return "at least " + std::to_string(arity.min);
  return std::to_string(arity.min) + " to " + std::to_string(arity.max);
}

void check_arity(const std::string& where, const char* what, const Layer::Arity& arity, std::size_t given) {
  const int n = static_cast<int>(given);
  if (n < arity.min || (arity.max >= 0 && n > arity.max))
    throw ConfigError(where, "has " + std::to_string(n) + " " + what + "s, takes " + at_least_or_exactly(arity));
}

/// ", its parameter blob 0 of shape 4096 9216 (37748736), 151 MB": the first whose memory is not there.
std::string missing_parameter(const Layer& layer) {
  for (std::size_t i = 0; i < layer.blobs().size(); ++i) {
    const Blob& blob = *layer.blobs()[i];
    if (!blob.has_data() && blob.count() > 0)
      return ", its parameter blob " + std::to_string(i) + " of shape " + to_string(blob.shape()) + ", " +
             megabytes_text(static_cast<double>(blob.bytes()));
  }
  return ", memory of its own";
}

/// Caffe's losses need not name their top. It is an output of the net like others.
std::string automatic_top(const std::string& layer) { return layer + " (automatic)"; }

}  // namespace

Net::Net(const caffe::NetParameter& parameter, const NetOptions& options)
    : name_(parameter.name()),
      services_(options),
      workspace_(std::make_unique<Workspace>(*options.group)),
      layouts_(options.layouts),
      loss_scale_(options.loss_scale) {
  if (services_.replicas == nullptr) services_.replicas = &alone_;
  run_.phase = parameter.state().phase() == caffe::TRAIN ? Phase::train : Phase::test;
  run_.seed = options.seed;
  run_.feed = options.feed;
  run_.replicas = services_.replicas;
  run_.rank = run_.replicas->rank();
  run_.ranks = run_.replicas->size();
  run_.writer = options.writer;
  run_.writers = options.writers;
  caffe::NetParameter current = parameter;
  upgrade_net(current, "net '" + name_ + "'");
  warn_of_unknown_stages(current);
  const LayerContext context{services_, run_, *workspace_, &layouts_};
  NetGraph graph(current, options, context);
  Builder builder(*this, graph);
  run_passes(graph, Stage::text);
  try {
    builder.build();
  } catch (const FileError& error) {
    const std::string stages = other_stages(parameter);
    if (stages.empty()) throw;
    throw FileError("", error.what(), "or give --stage: the net has " + stages);
  }
}

Net::~Net() = default;

void Net::Builder::build() {
  for (; graph_.next < graph_.text.layer_size(); ++graph_.next) {
    run_passes(graph_, Stage::growth);
    add_layer();
  }
  settle_backward(graph_);
  run_passes(graph_, Stage::net);
  keep();
  place_parameters();
  net_.weigh_losses();
}

void Net::Builder::add_layer() {
  auto layer = graph_.take_coming();
  caffe::LayerParameter& parameter = *graph_.text.mutable_layer(graph_.next);
  Entry& entry = graph_.layers.emplace_back();
  entry.type = parameter.type();
  entry.layer = std::move(layer);
  parameter.clear_blobs();  // the layer holds them now
  if (entry.layer->is_loss() && parameter.top_size() == 0) parameter.add_top(automatic_top(parameter.name()));
  check_counts(entry, parameter);
  connect_bottoms(entry, parameter);
  connect_tops(entry, parameter);
  entry.gradient_tops = entry.top;
  set_up(entry);
  read_loss_weights(entry, parameter);
  add_parameters(entry, parameter);
  if (entry.need_backward)
    for (const auto& top : entry.top_names) graph_.blobs.at(top).need_backward = true;
}

void Net::Builder::check_counts(const Entry& entry, const caffe::LayerParameter& parameter) const {
  const std::string where = place_of(parameter);
  check_arity(where, "bottom", entry.layer->bottoms(), static_cast<std::size_t>(parameter.bottom_size()));
  check_arity(where, "top", entry.layer->tops(), static_cast<std::size_t>(parameter.top_size()));
  const int propagate = parameter.propagate_down_size(), weights = parameter.loss_weight_size();
  if (propagate > 0 && propagate != parameter.bottom_size())
    throw ConfigError(where,
                      "has " + std::to_string(propagate) + " propagate_down for " +
                          std::to_string(parameter.bottom_size()) + " bottoms",
                      "give none or one for each");
  if (weights > 0 && weights != parameter.top_size())
    throw ConfigError(
        where, "has " + std::to_string(weights) + " loss_weight for " + std::to_string(parameter.top_size()) + " tops",
        "give none or one for each");
}

void Net::Builder::connect_bottoms(Entry& entry, const caffe::LayerParameter& parameter) {
  for (int i = 0; i < parameter.bottom_size(); ++i) {
    const std::string& name = parameter.bottom(i);
    const NetGraph::NamedBlob& blob = graph_.blobs.at(name);  // the pass `splits` has seen that it exists
    graph_.unused.erase(name);
    entry.bottom.push_back(blob.blob.get());
    entry.bottom_names.push_back(name);
    const bool has_slope = !entry.layer->has_zero_gradient(static_cast<std::size_t>(i));
    entry.need_backward = entry.need_backward || (has_slope && blob.need_backward);
    entry.propagate_down.push_back(
        has_slope && (parameter.propagate_down_size() > 0 ? parameter.propagate_down(i) : blob.need_backward));
  }
}

void Net::Builder::connect_tops(Entry& entry, const caffe::LayerParameter& parameter) {
  const std::string where = place_of(parameter);
  for (int i = 0; i < parameter.top_size(); ++i) {
    const std::string& name = parameter.top(i);
    const bool in_place = i < parameter.bottom_size() && parameter.bottom(i) == name;
    const auto known = graph_.blobs.find(name);
    if (in_place && !entry.layer->can_run_in_place())
      throw ConfigError(where, "cannot run in place, but top '" + name + "' is its bottom",
                        "give the top another name");
    if (!in_place && known != graph_.blobs.end())
      throw ConfigError(where, "top '" + name + "' is already made by layer '" + known->second.producer + "'",
                        "give it another name");
    if (!in_place) {
      graph_.blobs[name].blob = std::make_unique<Blob>(*graph_.options.group);
      graph_.blob_names.push_back(name);
    }
    NetGraph::NamedBlob& blob = graph_.blobs.at(name);
    blob.producer = parameter.name();
    graph_.unused.insert(name);
    entry.top.push_back(blob.blob.get());
    entry.top_names.push_back(name);
    if (entry.layer->is_filled_by_caller()) net_.inputs_.push_back(blob.blob.get());
  }
}

void Net::Builder::set_up(Entry& entry) {
  naming(
      "layer '" + entry.layer->name() + "'",
      [&] {
        entry.layer->setup(entry.bottom, entry.top);
        shape(entry);
      },
      [&] { return missing_parameter(*entry.layer); });
}

void Net::Builder::read_loss_weights(Entry& entry, const caffe::LayerParameter& parameter) {
  entry.loss_weights.assign(entry.top.size(), 0.0);
  for (int i = 0; i < parameter.loss_weight_size(); ++i)
    entry.loss_weights[static_cast<std::size_t>(i)] = double{parameter.loss_weight(i)};
  if (parameter.loss_weight_size() == 0 && entry.layer->is_loss() && !entry.top.empty()) entry.loss_weights[0] = 1;
  for (std::size_t i = 0; i < entry.top.size(); ++i)
    graph_.blobs.at(entry.top_names[i]).loss_weight = entry.loss_weights[i];
}

void Net::Builder::add_parameters(Entry& entry, const caffe::LayerParameter& parameter) {
  const auto& blobs = entry.layer->blobs();
  const std::string where = place_of(parameter);
  if (static_cast<std::size_t>(parameter.param_size()) > blobs.size())
    throw ConfigError(where, "has " + std::to_string(parameter.param_size()) + " param { } for " +
                                 std::to_string(blobs.size()) + " parameter blobs");
  check_division(entry, parameter);
  // Weight files and random numbers know parameters by their layer's name.
  if (!blobs.empty() && !layers_with_blobs_.insert(parameter.name()).second)
    throw ConfigError(where, "two layers with parameters have this name", "give each its own");
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    const int index = static_cast<int>(i);
    const auto& spec = index < parameter.param_size() ? parameter.param(index) : caffe::ParamSpec::default_instance();
    const bool learns = spec.lr_mult() != 0 && !entry.layer->is_statistic(i);
    entry.layer->set_param_propagate_down(i, learns);
    entry.need_backward = entry.need_backward || learns;
    if (spec.name().empty() || named_.count(spec.name()) == 0)
      own_parameter(entry, i, spec);
    else
      share_parameter(entry, i, spec);
  }
}

/// What divided layers share is not kept, and ranks that multiply each other's samples must have equally many.
void Net::Builder::check_division(const Entry& entry, const caffe::LayerParameter& parameter) const {
  if (entry.layer->division(0) == nullptr) return;
  const std::string where = place_of(parameter);
  for (const auto& spec : parameter.param())
    if (!spec.name().empty())
      throw ConfigError(where, "cannot be divided: its parameter '" + spec.name() + "' may be shared with other layers",
                        "leave out the param's name, or `divided`");
  for (const Entry& before : graph_.layers)
    if (before.layer->shapes_tops_in_forward())
      throw ConfigError(
          where, "cannot be divided: behind layer '" + before.layer->name() + "' ranks have batches of different sizes",
          "leave out `divided`");
}

void Net::Builder::own_parameter(const Entry& entry, std::size_t i, const caffe::ParamSpec& spec) {
  Learnable parameter;
  parameter.blob = entry.layer->blobs()[i].get();
  parameter.layer = entry.layer->name();
  parameter.index = static_cast<int>(i);
  parameter.statistic = entry.layer->is_statistic(i);
  parameter.lr_mult = parameter.statistic ? 0 : spec.lr_mult();
  parameter.decay_mult = parameter.statistic ? 0 : spec.decay_mult();
  parameter.arena_offset = 0;
  parameter.division = entry.layer->division(i);
  if (!spec.name().empty()) named_[spec.name()] = {net_.learnable_.size(), spec.has_lr_mult(), spec.has_decay_mult()};
  net_.learnable_.push_back(parameter);
  layer_of_learnable_.push_back(graph_.layers.size() - 1);
}

void Net::Builder::share_parameter(const Entry& entry, std::size_t i, const caffe::ParamSpec& spec) {
  Named& owned = named_.at(spec.name());
  Learnable& owner = net_.learnable_[owned.learnable];
  Blob& user = *entry.layer->blobs()[i];
  const std::string where = "layer '" + entry.layer->name() + "'";
  const std::string what = "parameter '" + spec.name() + "' of layer '" + owner.layer + "'";
  const bool same = spec.share_mode() == caffe::ParamSpec::PERMISSIVE ? user.count() == owner.blob->count()
                                                                      : user.shape() == owner.blob->shape();
  if (!same)
    throw ShapeError(where,
                     "cannot share " + what + ": its shape is " + to_string(owner.blob->shape()) + ", here it is " +
                         to_string(user.shape()),
                     "share_mode: PERMISSIVE asks for equal counts only");
  // Whoever of the sharers gives a multiplier first decides; the others must agree.
  const auto agree = [&](const char* field, bool given, float value, bool& decided, float& decision) {
    if (!given) return;
    if (decided && value != decision)
      throw ConfigError(where, std::string(field) + " differs from the one that " + what + " has already",
                        "give it once, or the same everywhere");
    decided = true;
    decision = value;
  };
  agree("lr_mult", spec.has_lr_mult(), spec.lr_mult(), owned.has_lr, owner.lr_mult);
  agree("decay_mult", spec.has_decay_mult(), spec.decay_mult(), owned.has_decay, owner.decay_mult);
  net_.shares_.push_back({&user, owner.blob});
}

/// The net gets what the graph has become.
void Net::Builder::keep() {
  const auto seen = graph_.seen();
  for (const auto& name : graph_.unused) {
    const NetGraph::NamedBlob& blob = graph_.blobs.at(name);
    net_.outputs_.push_back({name, blob.blob.get(), blob.loss_weight});
  }
  for (auto& [name, blob] : graph_.blobs) net_.blobs_[name] = std::move(blob.blob);
  net_.blob_names_ = std::move(graph_.blob_names);
  net_.layers_ = std::move(graph_.layers);
  net_.shares_gradients_ = graph_.shares_gradients;
  if (!graph_.recomputed.empty())
    net_.recomputation_ =
        std::make_unique<Recomputation>(*graph_.options.group, net_.layers_, seen, std::move(graph_.recomputed));
  net_.passes_ = std::move(graph_.reports);
}

/// Gives every parameter its place in the arena, the last layer first, and moves its values there. A shared parameter
/// is finished by the first of its layers, which is its owner.
void Net::Builder::place_parameters() {
  std::vector<std::size_t> order(net_.learnable_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return layer_of_learnable_[a] > layer_of_learnable_[b]; });
  i64 size = 0;
  for (const std::size_t i : order) {
    if (net_.learnable_[i].division != nullptr) continue;
    net_.learnable_[i].arena_offset = size;
    size += round_up(net_.learnable_[i].blob->count(), arena_alignment);
  }
  naming_memory("all parameters of the net, " + megabytes_text(4.0 * static_cast<double>(size)),
                [&] { net_.parameter_arena_ = Storage::make(*graph_.options.group, size); });
  const bool holds_values = !graph_.options.group->spec().timing_only;
  for (auto& parameter : net_.learnable_) {
    if (parameter.division != nullptr) continue;
    naming_memory("layer '" + parameter.layer + "', a copy of its parameter blob " + std::to_string(parameter.index) +
                      ", " + megabytes_text(static_cast<double>(parameter.blob->bytes())),
                  [&] {
                    std::vector<float> values;
                    if (holds_values) values = parameter.blob->data_vector();
                    parameter.blob->place_data(
                        Storage::range(net_.parameter_arena_, parameter.arena_offset, parameter.blob->count()));
                    if (holds_values) parameter.blob->write_data(values.data());
                  });
  }
  for (const auto& share : net_.shares_) share.user->share_data(*share.owner);
}

}  // namespace cortado
