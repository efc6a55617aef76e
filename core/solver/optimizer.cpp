#include "core/solver/optimizer.h"

#include <cmath>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/blob_proto.h"
#include "core/formats/caffe.pb.h"
#include "core/machine/integers.h"
#include "core/net/division.h"
#include "core/net/name_memory.h"
#include "core/net/shard_exchange.h"
#include "core/solver/norms.h"
#include "core/solver/rate.h"

namespace cortado {
namespace {
/// True if the update changes it.
bool is_trained(const Net::Learnable& learnable) { return !learnable.statistic && learnable.blob->count() > 0; }

std::shared_ptr<Storage> make_history(CoreGroup& group, i64 count) {
  std::shared_ptr<Storage> history;
  naming_memory("the solver's history, " + megabytes_text(4.0 * static_cast<double>(count)),
                [&] { history = Storage::make(group, count); });
  return history;
}
}  // namespace

Optimizer::Optimizer(const caffe::SolverParameter& parameter, Net& net, CoreGroup& group)
    : parameter_(parameter),
      type_(solver_type(parameter)),
      net_(net),
      group_(group),
      pitch_(round_up(net.parameter_arena()->count, Net::arena_alignment)),
      history_(make_history(group, type_.histories * pitch_)) {
  for (std::size_t i = 0; i < net.learnable().size(); ++i) {
    const Net::Learnable& learnable = net.learnable()[i];
    if (learnable.division != nullptr)
      shard_histories_[i] = Storage::make(group, type_.histories * learnable.blob->count());
  }
}

void Optimizer::log_rate(i64 iteration, float rate) const {
  const int step = rate_step(parameter_, iteration);
  if (parameter_.lr_policy() == "multistep" && iteration > 0 && step != rate_step(parameter_, iteration - 1))
    CORTADO_LOG(info) << "MultiStep Status: Iteration " << iteration << ", step = " << step;
  if (parameter_.display() > 0 && iteration % parameter_.display() == 0)
    CORTADO_LOG(info) << "Iteration " << iteration << ", lr = " << rate;
}

float Optimizer::clip(const GradientScale& scale) const {
  const float limit = parameter_.clip_gradients();
  if (limit < 0) return 1;
  const Storage& gradients = *net_.gradient_arena();
  std::vector<ClusterValues> sets = {{gradients.data, gradients.count}};
  for (const auto& part : shard_histories_) {
    const Blob& blob = *net_.learnable()[part.first].blob;
    sets.push_back({blob.diff(), blob.count()});
  }
  auto sums = sums_of_squares(group_, sets);
  if (sums.size() > 1) net_.run().replicas->sum(sums.data() + 1, static_cast<i64>(sums.size()) - 1);
  const double of_shards = double{scale.shards} / double{scale.arena};
  double sum = sums[0];
  for (std::size_t i = 1; i < sums.size(); ++i) sum += of_shards * of_shards * sums[i];
  const auto norm = static_cast<float>(double{scale.arena} * std::sqrt(sum));
  if (norm <= limit) return 1;
  const float factor = limit / norm;
  CORTADO_LOG(info) << "Gradient clipping: scaling down gradients (L2 norm " << norm << " > " << limit
                    << ") by scale factor " << factor;
  return factor;
}

float Optimizer::decay_of(const Net::Learnable& learnable) const {
  return parameter_.weight_decay() * learnable.decay_mult;
}

std::vector<double> Optimizer::squares_of_directions(const Step& step) const {
  std::vector<BlobUpdate> updates;
  for (std::size_t i = 0; i < net_.learnable().size(); ++i)
    updates.push_back(is_trained(net_.learnable()[i]) ? update_of(step, i) : BlobUpdate{});
  return type_.begin(group_, parameter_, updates);
}

std::vector<float> Optimizer::local_rates(const Step& step) const {
  const auto& learnables = net_.learnable();
  std::vector<float> rates(learnables.size(), 1);
  if (type_.local_rates == SolverType::LocalRates::none) return rates;
  const bool by_directions = type_.local_rates == SolverType::LocalRates::directions;
  std::vector<ClusterValues> sets;
  for (const Net::Learnable& learnable : learnables)
    for (const float* values : {learnable.blob->data(), by_directions ? nullptr : learnable.blob->diff()})
      sets.push_back({values, is_trained(learnable) && values != nullptr ? learnable.blob->count() : 0});
  auto sums = sums_of_squares(group_, sets);
  if (by_directions) {
    const auto directions = squares_of_directions(step);
    for (std::size_t i = 0; i < rates.size(); ++i) sums[2 * i + 1] = directions[i];
  }
  for (const auto& part : shard_histories_) net_.run().replicas->sum(&sums[2 * part.first], 2);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const double weights = std::sqrt(sums[2 * i]), others = std::sqrt(sums[2 * i + 1]);
    if (by_directions) {
      if (weights > 0 && others > 0) rates[i] = static_cast<float>(weights / others);
      continue;
    }
    const double all = double{step.scale.of(learnables[i])} * others + double{decay_of(learnables[i])} * weights;
    if (weights > 0 && all > 0) rates[i] = static_cast<float>(double{parameter_.trust_coefficient()} * weights / all);
  }
  return rates;
}

std::shared_ptr<Storage> Optimizer::history(std::size_t learnable, int k) const {
  const Net::Learnable& of = net_.learnable()[learnable];
  const i64 count = of.blob->count();
  const auto part = shard_histories_.find(learnable);
  return part != shard_histories_.end() ? Storage::range(part->second, k * count, count)
                                        : Storage::range(history_, k * pitch_ + of.arena_offset, count);
}

BlobUpdate Optimizer::update_of(const Step& step, std::size_t learnable) const {
  const Net::Learnable& of = net_.learnable()[learnable];
  BlobUpdate update;
  update.gradient = of.blob->diff();
  update.weight = of.blob->mutable_data();
  update.history = history(learnable, 0)->data;
  update.count = of.blob->count();
  update.pitch = of.division != nullptr ? update.count : pitch_;
  (parameter_.regularization_type() == "L1" ? update.l1 : update.l2) = decay_of(of);
  update.scale = step.scale.of(of);
  update.rate = step.rate * of.lr_mult;
  update.iteration = step.iteration;
  return update;
}

Optimizer::Step Optimizer::begin(i64 iteration, const GradientScale& scale) {
  Step step;
  step.iteration = iteration;
  step.rate = learning_rate(parameter_, iteration);
  log_rate(iteration, step.rate);
  net_.gradient_arena();  // there blobs have their gradients, even if nothing went backward
  step.scale = scale.scaled(clip(scale), static_cast<float>(parameter_.iter_size()));
  step.local_rates = local_rates(step);
  return step;
}

bool Optimizer::looks_at_all_gradients() const {
  return parameter_.clip_gradients() >= 0 || type_.local_rates != SolverType::LocalRates::none;
}

void Optimizer::update(const Step& step, std::size_t learnable) {
  const Net::Learnable& of = net_.learnable()[learnable];
  if (!is_trained(of)) return;
  BlobUpdate update = update_of(step, learnable);
  update.rate *= step.local_rates[learnable];
  type_.update(group_, parameter_, update);
}

template <class Visit>
void Optimizer::for_each_history(Visit visit) const {
  for (int k = 0; k < type_.histories; ++k)
    for (std::size_t i = 0; i < net_.learnable().size(); ++i) {
      Blob blob(group_, net_.learnable()[i].blob->shape());
      blob.place_data(history(i, k));
      visit(net_.learnable()[i], blob);
    }
}

void Optimizer::write_history(caffe::SolverState& state) const {
  for_each_history([&](const Net::Learnable&, const Blob& history) { to_proto(history, *state.add_history()); });
}

void Optimizer::read_history(const caffe::SolverState& state, const std::string& file) {
  const std::size_t blobs = net_.learnable().size(), histories = blobs * static_cast<std::size_t>(type_.histories);
  if (static_cast<std::size_t>(state.history_size()) != histories)
    throw FileError(file,
                    "holds " + std::to_string(state.history_size()) + " histories, solver type '" + type_.name +
                        "' has " + std::to_string(histories) + " for the net's " + std::to_string(blobs) + " blobs",
                    "it is truncated, or of another net or solver type");
  CORTADO_LOG(info) << "SGDSolver: restoring history";  // Caffe's line, whatever the type
  int next = 0;
  for_each_history([&](const Net::Learnable& learnable, Blob& history) {
    const caffe::BlobProto& stored = state.history(next++);
    const std::string what = "history of layer '" + learnable.layer + "', blob " + std::to_string(learnable.index);
    const Shape& shape = learnable.division != nullptr ? learnable.division->whole() : history.shape();
    if (!fits(stored, shape))
      throw FileError(file,
                      what + " has shape " + to_string(shape_of(stored)) + ", the net's blob has " + to_string(shape));
    const std::vector<float> values = values_of(stored, file + ", " + what);
    if (learnable.division == nullptr) history.write_data(values.data());
  });
}

void Optimizer::spread_shards(const caffe::SolverState& state) {
  int next = 0;
  for_each_history([&](const Net::Learnable& learnable, Blob& history) {
    const int stored = next++;
    if (learnable.division == nullptr) return;
    std::vector<float> whole;
    if (net_.shards()->rank() == 0) whole = values_of(state.history(stored), "history");
    history.write_data(learnable.division->spread(*net_.shards(), whole).data());
  });
}

void Optimizer::collect_shards(caffe::SolverState& state) const {
  int next = 0;
  for_each_history([&](const Net::Learnable& learnable, const Blob& history) {
    const int stored = next++;
    if (learnable.division == nullptr) return;
    const auto whole = learnable.division->collect(*net_.shards(), history.data_vector());
    if (net_.shards()->rank() == 0) to_proto(learnable.division->whole(), whole, {}, *state.mutable_history(stored));
  });
}

}  // namespace cortado
