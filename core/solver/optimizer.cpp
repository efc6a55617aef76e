#include "core/solver/optimizer.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/blob_proto.h"
#include "core/formats/caffe.pb.h"
#include "core/machine/integers.h"
#include "core/net/division.h"
#include "core/net/name_memory.h"
#include "core/net/shard_exchange.h"
#include "core/solver/agreement.h"
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

Optimizer::Optimizer(const caffe::SolverParameter& parameter, Net& net, CoreGroup& group,
                     const std::optional<Net::Range>& own)
    : parameter_(parameter),
      type_(solver_type(parameter)),
      net_(net),
      group_(group),
      has_parts_(own.has_value()),
      own_(own.value_or(Net::Range{0, net.parameter_arena()->count})),
      pitch_(round_up(own_.count, Net::arena_alignment)),
      history_(make_history(group, type_.histories * pitch_)) {
  if (has_parts_ && looks_at_all_gradients())
    throw ConfigError("solver",
                      std::string(parameter.clip_gradients() >= 0 ? "clip_gradients" : type_.name) +
                          " looks at all gradients, and each rank has those of its own part alone",
                      "use another exchange, or leave it out");
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

Net::Range Optimizer::own_values(std::size_t learnable) const {
  const Net::Learnable& of = net_.learnable()[learnable];
  const i64 count = of.blob->count();
  if (of.division != nullptr) return {0, count};
  const i64 first = std::clamp(own_.first - of.arena_offset, i64{0}, count),
            end = std::clamp(own_.first + own_.count - of.arena_offset, i64{0}, count);
  return {first, end - first};
}

std::shared_ptr<Storage> Optimizer::history(std::size_t learnable, int k) const {
  const Net::Range own = own_values(learnable);
  const auto part = shard_histories_.find(learnable);
  if (part != shard_histories_.end()) return Storage::range(part->second, k * own.count, own.count);
  const i64 place = own.count > 0 ? net_.learnable()[learnable].arena_offset + own.first - own_.first : 0;
  return Storage::range(history_, k * pitch_ + place, own.count);
}

BlobUpdate Optimizer::update_of(const Step& step, std::size_t learnable) const {
  const Net::Learnable& of = net_.learnable()[learnable];
  const Net::Range own = own_values(learnable);
  BlobUpdate update;
  update.gradient = of.blob->diff() + own.first;
  update.weight = of.blob->mutable_data() + own.first;
  update.history = history(learnable, 0)->data;
  update.count = own.count;
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
  if (update.count == 0) return;
  update.rate *= step.local_rates[learnable];
  type_.update(group_, parameter_, update);
}

bool Optimizer::is_shared(std::size_t learnable) const {
  return has_parts_ || net_.learnable()[learnable].division != nullptr;
}

std::vector<float> Optimizer::on_host(const Storage& history) const {
  std::vector<float> values(static_cast<std::size_t>(history.count));
  group_.copy(values.data(), history.data, values.size() * sizeof(float));
  group_.wait();
  return values;
}

void Optimizer::to_cluster(const float* values, const Storage& history) const {
  group_.copy(history.data, values, static_cast<std::size_t>(history.count) * sizeof(float));
  group_.wait();
}

template <class Visit>
void Optimizer::for_each_history(Visit visit) const {
  for (int k = 0; k < type_.histories; ++k)
    for (std::size_t i = 0; i < net_.learnable().size(); ++i) visit(i, *history(i, k));
}

void Optimizer::write_history(caffe::SolverState& state) const {
  for_each_history([&](std::size_t i, const Storage& history) {
    caffe::BlobProto& stored = *state.add_history();
    if (!is_shared(i)) to_proto(net_.learnable()[i].blob->shape(), on_host(history), {}, stored);
  });
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
  for_each_history([&](std::size_t i, const Storage& history) {
    const Net::Learnable& learnable = net_.learnable()[i];
    const caffe::BlobProto& stored = state.history(next++);
    const std::string what = "history of layer '" + learnable.layer + "', blob " + std::to_string(learnable.index);
    const Shape& shape = learnable.division != nullptr ? learnable.division->whole() : learnable.blob->shape();
    if (!fits(stored, shape))
      throw FileError(file,
                      what + " has shape " + to_string(shape_of(stored)) + ", the net's blob has " + to_string(shape));
    const std::vector<float> values = values_of(stored, file + ", " + what);
    if (!is_shared(i)) to_cluster(values.data(), history);
  });
}

void Optimizer::spread_history(const caffe::SolverState& state) {
  int next = 0;
  for_each_history([&](std::size_t i, const Storage& history) {
    const int stored = next++;
    if (!is_shared(i)) return;
    const Net::Learnable& learnable = net_.learnable()[i];
    const Replicas& replicas = *net_.run().replicas;
    std::vector<float> whole;
    if (replicas.rank() == 0) whole = values_of(state.history(stored), "history");
    if (learnable.division != nullptr)
      return to_cluster(learnable.division->spread(*net_.shards(), whole).data(), history);
    whole.resize(static_cast<std::size_t>(learnable.blob->count()));
    replicas.from_root(whole.data(), learnable.blob->count());
    to_cluster(whole.data() + own_values(i).first, history);
  });
}

void Optimizer::collect_history(caffe::SolverState& state) const {
  int next = 0;
  for_each_history([&](std::size_t i, const Storage& history) {
    const int stored = next++;
    if (!is_shared(i)) return;
    const Net::Learnable& learnable = net_.learnable()[i];
    const Replicas& replicas = *net_.run().replicas;
    const bool is_divided = learnable.division != nullptr;
    const auto whole = is_divided
                           ? learnable.division->collect(*net_.shards(), on_host(history))
                           : put_together(replicas, on_host(history), own_values(i).first, learnable.blob->count());
    const Shape& shape = is_divided ? learnable.division->whole() : learnable.blob->shape();
    if (replicas.rank() == 0) to_proto(shape, whole, {}, *state.mutable_history(stored));
  });
}

}  // namespace cortado
