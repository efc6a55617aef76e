#include "core/net/layer.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/formats/blob_proto.h"
#include "core/formats/caffe.pb.h"
#include "core/net/division.h"
#include "core/net/shard_exchange.h"

namespace cortado {

std::string layout_key(const Shape& shape, Precision precision) {
  require(shape.size() == 4, "layouts are of images");
  return "mb" + std::to_string(shape[0]) + "c" + std::to_string(shape[1]) + "h" + std::to_string(shape[2]) + "w" +
         std::to_string(shape[3]) + (precision == Precision::bf16 ? "bf16" : "");
}

bool lie_in_blocks(const Layer::Blobs& blobs) {
  const auto in_blocks = [](const Blob* blob) { return blob->layout() == Layout::nchw16c; };
  return std::any_of(blobs.begin(), blobs.end(), in_blocks) &&
         std::all_of(blobs.begin(), blobs.end(), [&](const Blob* blob) { return blob->axes() < 3 || in_blocks(blob); });
}

namespace {
/// FNV-1a, whose result does not depend on the standard library.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xCBF29CE484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return hash;
}
}  // namespace

Layer::Layer(const caffe::LayerParameter& parameter, const LayerContext& context)
    : context_(context), parameter_(std::make_unique<caffe::LayerParameter>(parameter)), name_(parameter.name()) {
  for (int i = 0; i < parameter.blobs_size(); ++i) {
    const std::string where = "layer '" + name_ + "', blob " + std::to_string(i);
    blobs_.push_back(std::make_shared<Blob>(group(), shape_of(parameter.blobs(i))));
    blobs_.back()->write_data(values_of(parameter.blobs(i), where).data());
  }
  // Values live in the blobs from here on; a second copy in the text would only cost memory.
  parameter_->clear_blobs();
}

Layer::~Layer() = default;

void Layer::setup(const Blobs& /*bottom*/, const Blobs& /*top*/) {}

Layer::Cost Layer::cost(const Blobs& bottom, const Blobs& top) const {
  double read = 0, written = 0;
  for (const Blob* b : bottom) read += 4.0 * static_cast<double>(b->count());
  for (const Blob* t : top) written += 4.0 * static_cast<double>(t->count());
  Cost cost;
  cost.forward_bytes = cost.backward_bytes = read + written;
  return cost;
}

void Layer::set_param_propagate_down(std::size_t i, bool wanted) {
  if (param_propagate_down_.size() <= i) param_propagate_down_.resize(i + 1, true);
  param_propagate_down_[i] = wanted;
}

bool Layer::param_propagate_down(std::size_t i) const {
  return i >= param_propagate_down_.size() || param_propagate_down_[i];
}

std::uint64_t Layer::random_key(std::uint64_t purpose) const {
  return random_bits(random_bits(run().seed, hash_of(name_)), purpose);
}

void Layer::add_parameter(const Shape& shape, const caffe::FillerParameter& filler) {
  const std::size_t index = parameters_added_++;
  if (index < blobs_.size()) {
    if (blobs_[index]->shape() != shape)
      bad_shape("its given blob " + std::to_string(index) + " has shape " + to_string(blobs_[index]->shape()) +
                " instead of " + to_string(shape));
    return;
  }
  blobs_.push_back(std::make_shared<Blob>(group(), shape));
  try {
    fill(*blobs_.back(), filler, random_key(index));
  } catch (const ConfigError& error) { bad_config("filler of blob " + std::to_string(index) + ": " + error.what()); }
}

void Layer::add_shard(const Division& division, const caffe::FillerParameter& filler) {
  const std::size_t index = parameters_added_;
  add_parameter(division.whole(), filler);
  const int rank = services().shards->rank();
  const auto shard = std::make_shared<Blob>(group(), division.shard(rank));
  shard->write_data(division.take(blobs_[index]->data_vector(), rank).data());
  blobs_[index] = shard;
}

void Layer::bad_config(const std::string& what, const std::string& advice) const {
  throw ConfigError("layer '" + name_ + "'", what, advice);
}

void Layer::bad_shape(const std::string& what, const std::string& advice) const {
  throw ShapeError("layer '" + name_ + "'", what, advice);
}

void Layer::run_plan(const std::string& direction, const std::function<void()>& work) {
  if (run().plan_seconds == nullptr) return work();
  const auto before = group().record();
  work();
  const auto after = group().record();
  group().wait();
  (*run().plan_seconds)[name() + "/" + direction] += group().seconds_between(before, after);
}

}  // namespace cortado
