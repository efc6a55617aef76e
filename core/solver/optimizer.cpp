#include "core/solver/optimizer.h"

#include <cmath>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/blob_proto.h"
#include "core/formats/caffe.pb.h"
#include "core/machine/parts.h"
#include "core/solver/norms.h"
#include "core/solver/rate.h"

namespace cortado {
namespace {
/// Whether the update changes it.
bool is_trained(const Net::Learnable& learnable) { return !learnable.statistic && learnable.blob->count() > 0; }
}  // namespace

Optimizer::Optimizer(const caffe::SolverParameter& parameter, Net& net, CoreGroup& group)
    : parameter_(parameter),
      type_(solver_type(parameter)),
      net_(net),
      group_(group),
      pitch_(round_up(net.parameter_arena()->count, Net::arena_alignment)),
      history_(Storage::make(group, type_.histories * pitch_)) {}

void Optimizer::log_rate(i64 iteration, float rate) const {
  const int step = rate_step(parameter_, iteration);
  if (parameter_.lr_policy() == "multistep" && iteration > 0 && step != rate_step(parameter_, iteration - 1))
    CORTADO_LOG(info) << "MultiStep Status: Iteration " << iteration << ", step = " << step;
  if (parameter_.display() > 0 && iteration % parameter_.display() == 0)
    CORTADO_LOG(info) << "Iteration " << iteration << ", lr = " << rate;
}

float Optimizer::clip(float scale) const {
  const float limit = parameter_.clip_gradients();
  if (limit < 0) return 1;
  const Storage& gradients = *net_.gradient_arena();
  const double sum = sums_of_squares(group_, {{gradients.data, gradients.count}})[0];
  const auto norm = static_cast<float>(double{scale} * std::sqrt(sum));
  if (norm <= limit) return 1;
  const float factor = limit / norm;
  CORTADO_LOG(info) << "Gradient clipping: scaling down gradients (L2 norm " << norm << " > " << limit
                    << ") by scale factor " << factor;
  return factor;
}

float Optimizer::decay_of(const Net::Learnable& learnable) const {
  return parameter_.weight_decay() * learnable.decay_mult;
}

std::vector<float> Optimizer::local_rates(float scale) const {
  const auto& learnables = net_.learnable();
  std::vector<float> rates(learnables.size(), 1);
  if (!type_.has_local_rates) return rates;
  std::vector<Values> sets;
  for (const Net::Learnable& learnable : learnables)
    for (const Storage* arena : {net_.parameter_arena().get(), net_.gradient_arena().get()})
      sets.push_back({arena->data + learnable.arena_offset, is_trained(learnable) ? learnable.blob->count() : 0});
  const auto sums = sums_of_squares(group_, sets);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const double weights = std::sqrt(sums[2 * i]), gradients = double{scale} * std::sqrt(sums[2 * i + 1]);
    const double all = gradients + double{decay_of(learnables[i])} * weights;
    if (weights > 0 && all > 0) rates[i] = static_cast<float>(double{parameter_.trust_coefficient()} * weights / all);
  }
  return rates;
}

BlobUpdate Optimizer::update_of(const Net::Learnable& learnable) const {
  BlobUpdate update;
  update.gradient = net_.gradient_arena()->data + learnable.arena_offset;
  update.weight = net_.parameter_arena()->data + learnable.arena_offset;
  update.history = history_->data + learnable.arena_offset;
  update.pitch = pitch_;
  update.count = learnable.blob->count();
  (parameter_.regularization_type() == "L1" ? update.l1 : update.l2) = decay_of(learnable);
  return update;
}

void Optimizer::update(i64 iteration, float scale) {
  const float rate = learning_rate(parameter_, iteration);
  log_rate(iteration, rate);
  const float scale_of_all = scale * clip(scale) / static_cast<float>(parameter_.iter_size());
  const std::vector<float> local = local_rates(scale_of_all);
  for (std::size_t i = 0; i < local.size(); ++i) {
    const Net::Learnable& learnable = net_.learnable()[i];
    if (!is_trained(learnable)) continue;
    BlobUpdate update = update_of(learnable);
    update.scale = scale_of_all;
    update.rate = rate * learnable.lr_mult * local[i];
    update.iteration = iteration;
    type_.update(group_, parameter_, update);
  }
}

template <class Visit>
void Optimizer::for_each_history(Visit visit) const {
  for (int k = 0; k < type_.histories; ++k)
    for (const Net::Learnable& learnable : net_.learnable()) visit(learnable, k * pitch_ + learnable.arena_offset);
}

void Optimizer::write_history(caffe::SolverState& state) const {
  for_each_history([&](const Net::Learnable& learnable, i64 first) {
    Blob blob(group_, learnable.blob->shape());
    blob.place_data(Storage::range(history_, first, blob.count()));
    to_proto(blob, *state.add_history());
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
  for_each_history([&](const Net::Learnable& learnable, i64 first) {
    const caffe::BlobProto& stored = state.history(next++);
    const std::string what = "history of layer '" + learnable.layer + "', blob " + std::to_string(learnable.index);
    if (!fits(stored, learnable.blob->shape()))
      throw FileError(file, what + " has shape " + to_string(shape_of(stored)) + ", the net's blob has " +
                                to_string(learnable.blob->shape()));
    const std::vector<float> values = values_of(stored, file + ", " + what);
    group_.copy(history_->data + first, values.data(), values.size() * sizeof(float));
    group_.wait();  // `values` must outlive the copy
  });
}

}  // namespace cortado
