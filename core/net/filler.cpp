#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/formats/caffe.pb.h"
#include "core/machine/free_memory.h"
#include "core/machine/math.h"
#include "core/net/layer.h"

namespace cortado {
namespace {
using Values = std::vector<float>;

void uniform(Values& values, float low, float high, std::uint64_t key) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = low + (high - low) * random_uniform(key, i);
}

/// Box and Muller, "A note on the generation of random normal deviates", 1958: one normal number from two uniform
/// ones, of which the first is kept off zero. Branch-free, for dummy data are drawn anew in every pass.
void gaussian(Values& values, float mean, float deviation, std::uint64_t key) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float u = 1.0f - random_uniform(key, 2 * i), v = random_uniform(key, 2 * i + 1);
    values[i] = mean + deviation * math::sqrt(-2.0f * math::log(u)) * math::cos_of_turn(v);
  }
}

/// Keeps on average `sparse` values of each output's inputs, as Caffe: probability sparse / shape[0].
void thin_out(Values& values, const Shape& shape, int sparse, std::uint64_t key) {
  if (shape.empty()) throw ConfigError("", "'sparse' needs a blob with at least one axis");
  const float kept = static_cast<float>(sparse) / static_cast<float>(shape[0]);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (random_uniform(key, i) >= kept) values[i] = 0;
}

/// Inputs or outputs of one element's neuron, or their mean: the n of Xavier's and He's variances. For a weight of
/// shape (outputs, inputs, ...), fan in is count / outputs and fan out is count / inputs.
double fan(const Shape& shape, const caffe::FillerParameter& filler) {
  const auto count = static_cast<double>(count_of(shape));
  const double in = shape.empty() ? count : count / static_cast<double>(shape[0]);
  const double out = shape.size() > 1 ? count / static_cast<double>(shape[1]) : count;
  switch (filler.variance_norm()) {
    case caffe::FillerParameter::FAN_OUT: return out;
    case caffe::FillerParameter::AVERAGE: return (in + out) / 2;
    default: return in;
  }
}

/// Uniform values, each first-axis slice then divided by its sum.
void positive_unitball(Values& values, const Shape& shape, std::uint64_t key) {
  uniform(values, 0, 1, key);
  const std::size_t slices = shape.empty() ? 1 : static_cast<std::size_t>(shape[0]);
  const std::size_t length = values.size() / slices;
  for (std::size_t s = 0; s < slices; ++s) {
    double sum = 0;
    for (std::size_t j = 0; j < length; ++j) sum += double{values[s * length + j]};
    for (std::size_t j = 0; j < length; ++j) values[s * length + j] /= static_cast<float>(sum);
  }
}

/// The interpolating kernel of a deconvolution that scales up by f = ceil(width / 2), for every (n, c).
void bilinear(Values& values, const Shape& shape) {
  if (shape.size() != 4 || shape[2] != shape[3])
    throw ConfigError("", "'bilinear' fills 4-d blobs with square kernels, not " + to_string(shape));
  const auto width = static_cast<std::size_t>(shape[3]);
  const double f = std::ceil(static_cast<double>(width) / 2);
  const double centre = static_cast<double>(width - 1) / (2 * f);
  const auto weight = [&](std::size_t x) { return 1 - std::fabs(static_cast<double>(x) / f - centre); };
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(weight(i % width) * weight(i / width % width));
}
}  // namespace

void fill(Blob& blob, const caffe::FillerParameter& filler, std::uint64_t key) {
  if (blob.count() == 0) return;
  const std::string& type = filler.type();
  if (filler.sparse() < -1) throw ConfigError("", "'sparse' is " + std::to_string(filler.sparse()), "0 or more");
  if (filler.sparse() >= 0 && type != "gaussian")
    throw ConfigError("", "filler '" + type + "' cannot be sparse", "only gaussian can");
  // Where memory contents mean nothing, the filler is checked and no more.
  const bool only_checks = blob.group().spec().timing_only;
  if (!only_checks) require_memory("", static_cast<std::size_t>(blob.bytes()));
  Values values(only_checks ? 0 : static_cast<std::size_t>(blob.count()));
  const Shape& shape = blob.shape();
  if (type == "constant") {
    std::fill(values.begin(), values.end(), filler.value());
  } else if (type == "uniform") {
    uniform(values, filler.min(), filler.max(), key);
  } else if (type == "gaussian") {
    gaussian(values, filler.mean(), filler.std(), key);
    if (filler.sparse() >= 0 && !only_checks) thin_out(values, shape, filler.sparse(), mix64(key));
  } else if (type == "xavier") {  // Glorot and Bengio 2010: variance 1 / n
    const auto bound = static_cast<float>(std::sqrt(3 / fan(shape, filler)));
    uniform(values, -bound, bound, key);
  } else if (type == "msra") {  // He, Zhang, Ren and Sun 2015: variance 2 / n
    gaussian(values, 0, static_cast<float>(std::sqrt(2 / fan(shape, filler))), key);
  } else if (type == "positive_unitball") {
    if (!only_checks) positive_unitball(values, shape, key);
  } else if (type == "bilinear") {
    bilinear(values, shape);
  } else {
    throw ConfigError("", "unknown filler type '" + type + "'",
                      "constant, uniform, gaussian, xavier, msra, positive_unitball or bilinear");
  }
  if (!only_checks) blob.write_data(values.data());
}

}  // namespace cortado
