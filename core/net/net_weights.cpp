#include <algorithm>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/blob_proto.h"
#include "core/formats/caffe.pb.h"
#include "core/net/division.h"
#include "core/net/net.h"
#include "core/net/shard_exchange.h"

// Weights from files, from other nets, and to files.
namespace cortado {
namespace {
/// The index of that parameter's layer in a stored net, if it has the blob; -1 means that it does not.
int layer_of(const caffe::NetParameter& stored, const Net::Learnable& learnable) {
  for (int i = 0; i < stored.layer_size(); ++i)
    if (stored.layer(i).name() == learnable.layer && learnable.index < stored.layer(i).blobs_size()) return i;
  return -1;
}
}  // namespace

bool Net::is_anothers(const Blob& parameter) const {
  return std::any_of(shares_.begin(), shares_.end(), [&](const Share& share) { return share.user == &parameter; });
}

void Net::copy_trained(const caffe::NetParameter& trained) {
  std::set<std::string> taken;
  caffe::NetParameter more;
  for (const auto& source : trained.layer()) {
    if (layer(source.name()) == nullptr) {
      CORTADO_LOG(info) << "Ignoring source layer " << source.name();
      continue;
    }
    caffe::LayerParameter settled = source;
    settle(settled, more);
    copy_layer(settled);
    taken.insert(source.name());
  }
  for (const auto& source : more.layer()) {
    copy_layer(source);
    taken.insert(source.name());
  }
  report_taken(trained, taken);
}

/// Brings stored blobs into this net's form. Those that belong to a layer behind are added to `more`, under its name.
void Net::settle(caffe::LayerParameter& stored, caffe::NetParameter& more) const {
  caffe::LayerParameter behind;
  const auto entry = std::find_if(layers_.begin(), layers_.end(),
                                  [&](const Entry& other) { return other.layer->name() == stored.name(); });
  entry->layer->settle_stored(stored, behind);
  if (behind.blobs_size() == 0) return;
  const auto takes_them = [&](const Entry& other) {
    return other.bottom.size() == 1 && other.bottom_names[0] == entry->top_names[0] && other.layer->traits().affine &&
           other.layer->blobs().size() == static_cast<std::size_t>(behind.blobs_size());
  };
  const auto reader = std::find_if(layers_.begin(), layers_.end(), takes_them);
  if (reader == layers_.end())
    throw ShapeError("layer '" + stored.name() + "'",
                     "the weights have a scale and a bias, as those of Caffe's forks do",
                     "let a Scale layer with bias_term: true follow in the net, which gets them");
  behind.set_name(reader->layer->name());
  *more.add_layer() = behind;
  CORTADO_LOG(warning) << "layer '" << stored.name() << "': the weights' scale and bias go to layer '" << behind.name()
                       << "'";
}

/// Says how many layers got weights. Throws ConfigError if none did that has some.
void Net::report_taken(const caffe::NetParameter& trained, const std::set<std::string>& taken) const {
  std::size_t wanted = 0, given = 0;
  std::string missing;
  for (const auto& entry : layers_) {
    if (entry.layer->blobs().empty()) continue;
    ++wanted;
    if (taken.count(entry.layer->name()) > 0)
      ++given;
    else
      missing += (missing.empty() ? "" : ", ") + entry.layer->name();
  }
  if (wanted > 0 && given == 0)
    throw ConfigError("net '" + name_ + "'",
                      "shares no layer with the weights, which have " + std::to_string(trained.layer_size()) +
                          " layers; it has " + missing,
                      "layers are matched by their names: are these the weights of this net?");
  CORTADO_LOG(info) << "Took the weights of " << given << " of " << wanted << " layers that have some"
                    << (missing.empty() ? "" : "; without: " + missing);
}

void Net::copy_layer(const caffe::LayerParameter& source) {
  Layer* const target = layer(source.name());
  const std::string where = "layer '" + source.name() + "'";
  const auto& blobs = target->blobs();
  // A file may hold what several layers share once, with its owner (Hdf5Files).
  std::size_t held = blobs.size();
  while (held > static_cast<std::size_t>(source.blobs_size()) && is_anothers(*blobs[held - 1])) --held;
  if (static_cast<std::size_t>(source.blobs_size()) != held)
    throw ShapeError(where,
                     "the weights have " + std::to_string(source.blobs_size()) + " blobs, the net has " +
                         std::to_string(blobs.size()),
                     "rename the layer to learn it from scratch");
  for (std::size_t i = 0; i < held; ++i) {
    const auto& stored = source.blobs(static_cast<int>(i));
    if (stored.data_size() + stored.double_data_size() == 0 && is_anothers(*blobs[i])) continue;
    const Division* const division = target->division(i);
    const Shape& shape = division != nullptr ? division->whole() : blobs[i]->shape();
    if (!fits(stored, shape))
      throw ShapeError(where,
                       "blob " + std::to_string(i) + " of the weights has shape " + to_string(shape_of(stored)) +
                           ", the net's has " + to_string(shape),
                       "rename the layer to learn it from scratch");
    const auto values = values_of(stored, where + " of the weights, blob " + std::to_string(i));
    blobs[i]->write_data((division != nullptr ? division->take(values, services_.shards->rank()) : values).data());
  }
}

void Net::spread_shards(const caffe::NetParameter& weights) {
  for (const Learnable& p : learnable_) {
    if (p.division == nullptr) continue;
    const int layer = services_.shards->rank() == 0 ? layer_of(weights, p) : -1;
    if (run_.replicas->from_root(layer >= 0 ? "given" : "").empty()) continue;
    std::vector<float> whole;
    if (layer >= 0) whole = values_of(weights.layer(layer).blobs(p.index), "layer '" + p.layer + "' of the weights");
    p.blob->write_data(p.division->spread(*services_.shards, whole).data());
  }
}

void Net::collect_shards(caffe::NetParameter& weights, bool write_diff) const {
  for (const Learnable& p : learnable_) {
    if (p.division == nullptr) continue;
    const auto values = p.division->collect(*services_.shards, p.blob->data_vector());
    const auto gradients =
        write_diff ? p.division->collect(*services_.shards, p.blob->diff_vector()) : std::vector<float>();
    if (services_.shards->rank() != 0) continue;
    auto& blob = *weights.mutable_layer(layer_of(weights, p))->mutable_blobs(p.index);
    cortado::to_proto(p.division->whole(), values, gradients, blob);
  }
}

void Net::to_proto(caffe::NetParameter& out, bool write_diff) const {
  out.Clear();
  out.set_name(name_);
  for (const auto& entry : layers_) {
    auto& layer = *out.add_layer();
    layer = entry.layer->parameter();
    if (entry.layer->is_loss() && layer.loss_weight_size() == 0)  // Caffe's losses write the weights that they assume
      for (const double weight : entry.loss_weights) layer.add_loss_weight(static_cast<float>(weight));
    for (const auto& blob : entry.layer->blobs()) cortado::to_proto(*blob, *layer.add_blobs(), write_diff);
  }
}

void Net::share_trained(const Net& other) {
  for (const auto& entry : other.layers_) {
    Layer* target = layer(entry.layer->name());
    if (target == nullptr) continue;
    const auto &from = entry.layer->blobs(), &to = target->blobs();
    const std::string where = "layer '" + target->name() + "'";
    if (from.size() != to.size())
      throw ShapeError(where, "has " + std::to_string(to.size()) + " parameter blobs, the training net's " +
                                  std::to_string(from.size()));
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (from[i]->shape() != to[i]->shape())
        throw ShapeError(where, "parameter blob " + std::to_string(i) + " has shape " + to_string(to[i]->shape()) +
                                    ", the training net's " + to_string(from[i]->shape()));
      to[i]->share_data(*from[i]);
    }
  }
  // A layer that only this net has may share with one that both have.
  for (const auto& share : shares_) share.user->share_data(*share.owner);
  parameter_arena_.reset();
}

}  // namespace cortado
