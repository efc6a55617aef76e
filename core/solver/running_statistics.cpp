#include "core/solver/running_statistics.h"

#include <cstring>
#include <sstream>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/solver/agreement.h"

namespace cortado {
namespace {
/// The most values of all ranks together in a state: what protobuf can hold, with room for the histories.
constexpr i64 most_values = i64{1} << 28;

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits(values.size());
  if (!values.empty()) std::memcpy(bits.data(), values.data(), bits.size() * sizeof(float));
  return bits;
}
}  // namespace

std::vector<float> RunningStatistics::values() const {
  std::vector<float> all;
  for (const Net::Learnable& learnable : net_.learnable()) {
    if (!learnable.statistic) continue;
    const auto values = learnable.blob->data_vector();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

void RunningStatistics::set(const std::vector<float>& values) {
  const float* next = values.data();
  for (const Net::Learnable& learnable : net_.learnable()) {
    if (!learnable.statistic) continue;
    learnable.blob->write_data(next);
    next += learnable.blob->count();
  }
}

void RunningStatistics::average() {
  if (averaged_++ > 0) return;
  own_ = values();
  net_.average_statistics();
}

void RunningStatistics::put_back() {
  if (--averaged_ == 0) set(own_);
}

void RunningStatistics::write(Stored& stored) const {
  require(averaged_ > 0, "statistics are averaged when they are written");
  const auto own = bits_of(own_);
  i64 differ = own != bits_of(values()) ? 1 : 0;
  replicas_.maximum(&differ, 1);
  if (differ == 0) return;
  if (static_cast<i64>(own.size()) * replicas_.size() > most_values) {
    CORTADO_LOG(warning) << "The running statistics of " << replicas_.size() << " ranks are too many for a snapshot, "
                         << "which holds their mean alone: a run that goes on from it does so, but not bit for bit. "
                         << "With `batch_norm_param { synchronised: true }` all ranks have the same.";
    return;
  }
  for (int rank = 0; rank < replicas_.size(); ++rank) {
    const auto received = put_together(replicas_, rank == replicas_.rank() ? own_ : std::vector<float>(), 0,
                                       static_cast<i64>(own_.size()));
    if (replicas_.rank() != 0) continue;
    auto& to = *stored.Add();
    to.mutable_shape()->add_dim(static_cast<i64>(received.size()));
    to.mutable_data()->Add(received.begin(), received.end());
  }
}

void RunningStatistics::restore(const Stored& stored, const std::string& file) {
  std::vector<float> own = values();
  const auto count = static_cast<i64>(own.size());
  on_root(replicas_, [&] {
    for (const auto& ranks_own : stored)
      if (ranks_own.data_size() != count)
        throw FileError(file, "holds " + std::to_string(ranks_own.data_size()) + " running statistics, the net has " +
                                  std::to_string(count));
  });
  const int ranks = std::stoi(replicas_.from_root(std::to_string(stored.size())));
  if (ranks == 0 || count == 0) return;
  if (ranks != replicas_.size()) {
    CORTADO_LOG(warning) << "The snapshot holds the running statistics of " << ranks << " ranks: all "
                         << replicas_.size() << " of this run go on from their mean.";
    return;
  }
  std::vector<float> values(own.size());
  for (int rank = 0; rank < ranks; ++rank) {
    if (replicas_.rank() == 0) values.assign(stored[rank].data().begin(), stored[rank].data().end());
    replicas_.from_root(values.data(), count);
    if (rank == replicas_.rank()) own = values;
  }
  set(own);
}

}  // namespace cortado
