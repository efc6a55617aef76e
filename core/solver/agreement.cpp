#include "core/solver/agreement.h"

#include <algorithm>
#include <exception>
#include <vector>

#include "core/base/error.h"
#include "core/machine/math.h"
#include "core/net/name_memory.h"
#include "core/solver/state_file.h"

namespace cortado {

void on_root(const Replicas& replicas, const std::function<void()>& work) {
  std::string failure;
  std::exception_ptr cause;
  if (replicas.rank() == 0) {
    try {
      work();
    } catch (const std::exception& error) {
      failure = error.what();
      cause = std::current_exception();
    }
  }
  failure = replicas.from_root(failure);
  if (cause) std::rethrow_exception(cause);
  if (!failure.empty()) throw PeerError("rank 0", failure);
}

void share_from_root(const Replicas& replicas, CoreGroup& group, const Storage& values) {
  if (replicas.size() == 1 || values.count == 0) return;
  std::vector<float> host;
  naming_memory("values that go to all ranks, " + megabytes_text(4.0 * static_cast<double>(values.count)),
                [&] { host.resize(static_cast<std::size_t>(values.count)); });
  const std::size_t bytes = host.size() * sizeof(float);
  group.copy(host.data(), values.data, bytes);
  group.wait();
  replicas.from_root(host.data(), values.count);
  group.copy(values.data, host.data(), bytes);
  group.wait();
}

std::vector<float> put_together(const Replicas& replicas, const std::vector<float>& own, i64 first, i64 count) {
  constexpr i64 piece = 1 << 20;
  std::vector<float> all(static_cast<std::size_t>(count));
  std::copy(own.begin(), own.end(), all.begin() + first);
  std::vector<double> bits;
  for (i64 begin = 0; begin < count && replicas.size() > 1; begin += piece) {
    float* const values = all.data() + begin;
    bits.resize(static_cast<std::size_t>(std::min(piece, count - begin)));
    // A sum with zeros; as whole numbers, which keep every bit.
    std::transform(values, values + bits.size(), bits.begin(), [](float value) { return math::bits_of(value); });
    replicas.sum(bits.data(), static_cast<i64>(bits.size()));
    std::transform(bits.begin(), bits.end(), values,
                   [](double sum) { return math::float_of(static_cast<std::uint32_t>(sum)); });
  }
  return all;
}

void share_plans(const Replicas& replicas, Net& net) {
  if (replicas.size() == 1) return;
  caffe::CortadoState state;
  store_plans(net.plans(), state);
  require(state.ParseFromString(replicas.from_root(state.SerializeAsString())), "rank 0 sent its plans");
  net.use_plans(plans_of(state));
}

}  // namespace cortado
