#include "app/verbs/net_values.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <limits>
#include <map>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/formats/blob_proto.h"
#include "core/formats/caffe.pb.h"
#include "core/net/name_memory.h"

namespace cortado {
namespace {
constexpr std::size_t number_width = 6;  // "00012 " before a value's name in a file

void fill_inputs(Net& net, std::uint64_t seed) {
  std::uint64_t stream = 0;
  for (Blob* blob : net.inputs()) {
    const bool labels = blob->axes() > 0 && blob->count() == blob->dim(0);
    std::vector<float> values(static_cast<std::size_t>(blob->count()));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = labels ? static_cast<float>(i % 2) : 2 * random_uniform(seed + stream, i) - 1;
    blob->write_data(values.data());
    ++stream;
  }
}

/// The layer whose work is done once this one has run.
const Layer& last_of(const Net& net, const Net::Entry& entry) {
  return entry.absorbed.empty() ? *entry.layer : *net.layers()[entry.absorbed.back()].layer;
}

NetValue copy_of(const std::string& what, const Blob& blob, std::vector<float> (Blob::*values)() const) {
  NetValue copy{what, blob.shape(), {}};
  naming_memory("a copy of " + what + ", " + megabytes_text(4.0 * static_cast<double>(blob.count())),
                [&] { copy.values = (blob.*values)(); });
  return copy;
}

void record_forward(Net& net, std::vector<NetValue>& to) {
  for (std::size_t i = 0; i < net.layers().size(); ++i) {
    net.forward(i, i + 1);
    const Net::Entry& entry = net.layers()[i];
    if (entry.is_absorbed) continue;
    for (std::size_t t = 0; t < entry.top.size(); ++t)
      to.push_back(
          copy_of(last_of(net, entry).name() + ": top " + entry.top_names[t], *entry.top[t], &Blob::data_vector));
  }
}

void record_parameters(const Layer& layer, std::vector<NetValue>& to) {
  for (std::size_t k = 0; k < layer.blobs().size(); ++k)
    if (!layer.is_statistic(k))
      to.push_back(copy_of(layer.name() + ": gradient of parameter " + std::to_string(k), *layer.blobs()[k],
                           &Blob::diff_vector));
}

void record_backward(Net& net, std::vector<NetValue>& to) {
  net.clear_gradients();
  for (std::size_t i = net.layers().size(); i-- > 0;) {
    net.backward(i, i + 1);
    const Net::Entry& entry = net.layers()[i];
    if (entry.is_absorbed || entry.is_added_up || !entry.need_backward) continue;
    for (std::size_t b = 0; b < entry.bottom.size(); ++b)
      if (entry.propagate_down[b])
        to.push_back(copy_of(entry.layer->name() + ": gradient of bottom " + entry.bottom_names[b], *entry.bottom[b],
                             &Blob::diff_vector));
    for (const std::size_t other : entry.absorbed) record_parameters(*net.layers()[other].layer, to);
    record_parameters(*entry.layer, to);
  }
}

constexpr char of_parameter[] = ": gradient of parameter ";

/// The layer of a gradient of a parameter; empty for other values.
std::string layer_of_parameter(const std::string& what) {
  const std::size_t end = what.rfind(of_parameter);
  return end == std::string::npos ? "" : what.substr(0, end);
}

/// The largest finite absolute value of the gradients of each layer's parameters.
std::map<std::string, double> largest_gradients(const std::vector<NetValue>& values) {
  std::map<std::string, double> largest;
  for (const NetValue& value : values) {
    const std::string layer = layer_of_parameter(value.what);
    if (layer.empty()) continue;
    double& so_far = largest[layer];
    for (const float v : value.values)
      if (std::isfinite(v)) so_far = std::max(so_far, std::fabs(double{v}));
  }
  return largest;
}

/// `least`: what the values' largest counts as, at least.
ValueDifference difference_of(const NetValue& here, const NetValue& there, double least) {
  ValueDifference result;
  result.what = here.what;
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (here.shape != there.shape) {
    result.relative = infinite;
    result.shapes = to_string(here.shape) + " here, " + to_string(there.shape) + " there";
    return result;
  }
  double largest = least, worst = -1;
  for (std::size_t i = 0; i < here.values.size(); ++i) {
    const double a = double{here.values[i]}, b = double{there.values[i]};
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    const double difference = same ? 0 : std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b) : infinite;
    if (std::isfinite(a)) largest = std::max(largest, std::fabs(a));
    if (std::isfinite(b)) largest = std::max(largest, std::fabs(b));
    if (difference <= worst) continue;
    worst = difference;
    result.element = static_cast<i64>(i);
    result.here = here.values[i];
    result.there = there.values[i];
  }
  result.relative = worst > 0 ? worst / largest : 0;
  return result;
}

}  // namespace

std::vector<NetValue> values_of_pass(Net& net, std::uint64_t seed) {
  std::vector<NetValue> values;
  fill_inputs(net, seed);
  net.run().pass = 0;
  record_forward(net, values);
  bool learns = false;
  for (const auto& entry : net.layers()) learns = learns || entry.need_backward;
  if (learns) record_backward(net, values);
  return values;
}

void save_values(const std::vector<NetValue>& values, const std::string& file, const Hdf5Files& hdf5) {
  caffe::NetParameter kept;
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto& layer = *kept.add_layer();
    layer.set_name(fmt::format("{:05} {}", i, values[i].what));
    auto& blob = *layer.add_blobs();
    blob.mutable_shape();
    for (const i64 d : values[i].shape) blob.mutable_shape()->add_dim(d);
    blob.mutable_data()->Assign(values[i].values.begin(), values[i].values.end());
  }
  hdf5.write_weights(file, kept);
}

std::vector<NetValue> load_values(const std::string& file, const Hdf5Files& hdf5) {
  caffe::NetParameter kept;
  hdf5.read_weights(file, kept);
  std::vector<NetValue> values;
  for (const auto& layer : kept.layer()) {
    if (layer.name().size() <= number_width || layer.name().find(": ") == std::string::npos || layer.blobs_size() != 1)
      throw FileError(file, "holds no values of cortado compare --save");
    values.push_back({layer.name().substr(number_width), shape_of(layer.blobs(0)), values_of(layer.blobs(0), file)});
  }
  return values;
}

std::vector<ValueDifference> differences_of(const std::vector<NetValue>& here, const std::vector<NetValue>& there) {
  std::map<std::string, const NetValue*> others;
  for (const auto& value : there) others[value.what] = &value;
  const std::map<std::string, double> largest = largest_gradients(here);
  std::vector<ValueDifference> differences;
  for (const auto& value : here) {
    const auto other = others.find(value.what);
    if (other == others.end()) continue;
    const std::string layer = layer_of_parameter(value.what);
    differences.push_back(difference_of(value, *other->second, layer.empty() ? 0 : largest.at(layer) / 100));
  }
  return differences;
}

}  // namespace cortado
