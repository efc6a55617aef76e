#include "core/solver/sgd_solver.h"

#include <cmath>
#include <vector>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/blob_proto.h"
#include "core/formats/caffe.pb.h"
#include "core/solver/programs.h"
#include "core/solver/rate.h"

namespace cortado {
namespace {
constexpr i64 float_bytes = sizeof(float);

/// Sum of squares of `values`. Waits.
double sum_of_squares(CoreGroup& group, const Storage& values) {
  SumOfSquares program;
  program.values = values.data;
  program.n = values.count;
  program.block = line_elements(group.spec(), values.count, 3, float_bytes);
  PlanBuilder book(group.spec());
  program.in = book.line("values", program.block * float_bytes, program.depth);
  program.out = book.line("sum", float_bytes, 1);
  const i64 lines = (values.count + program.block - 1) / program.block;
  const auto sums = Storage::make(group, lines);
  program.sums = sums->data;
  group.launch(program, book.plan(lines));

  std::vector<float> on_host(static_cast<std::size_t>(lines));
  group.copy(on_host.data(), sums->data, on_host.size() * sizeof(float));
  group.wait();
  double total = 0;
  for (const float sum : on_host) total += double{sum};
  return total;
}

void launch(CoreGroup& group, SgdUpdate program) {
  program.block = line_elements(group.spec(), program.n, 8, float_bytes);
  const i64 bytes = program.block * float_bytes;
  PlanBuilder book(group.spec());
  program.gradients = book.line("gradients", bytes, program.depth);
  program.weights = book.line("weights", bytes, program.depth);
  program.histories = book.line("histories", bytes, program.depth);
  program.new_weights = book.line("new weights", bytes, 1);
  program.new_histories = book.line("new histories", bytes, 1);
  group.launch(program, book.plan((program.n + program.block - 1) / program.block));
}
}  // namespace

SgdSolver::SgdSolver(const caffe::SolverParameter& parameter, Net& net, CoreGroup& group)
    : parameter_(parameter), net_(net), group_(group), history_(Storage::make(group, net.parameter_arena()->count)) {}

float SgdSolver::clip(float scale) const {
  const float limit = parameter_.clip_gradients();
  if (limit < 0) return 1;
  const auto norm = static_cast<float>(double{scale} * std::sqrt(sum_of_squares(group_, *net_.gradient_arena())));
  if (norm <= limit) return 1;
  const float factor = limit / norm;
  CORTADO_LOG(info) << "Gradient clipping: scaling down gradients (L2 norm " << norm << " > " << limit
                    << ") by scale factor " << factor;
  return factor;
}

void SgdSolver::update(i64 iteration, float scale) {
  const float rate = learning_rate(parameter_, iteration);
  const int step = rate_step(parameter_, iteration);
  if (parameter_.lr_policy() == "multistep" && iteration > 0 && step != rate_step(parameter_, iteration - 1))
    CORTADO_LOG(info) << "MultiStep Status: Iteration " << iteration << ", step = " << step;
  if (parameter_.display() > 0 && iteration % parameter_.display() == 0)
    CORTADO_LOG(info) << "Iteration " << iteration << ", lr = " << rate;

  SgdUpdate program;
  program.scale = scale * clip(scale) / static_cast<float>(parameter_.iter_size());
  program.momentum = parameter_.momentum();
  const bool l1 = parameter_.regularization_type() == "L1";
  for (const Net::Learnable& learnable : net_.learnable()) {
    if (learnable.statistic || learnable.blob->count() == 0) continue;
    program.gradient = net_.gradient_arena()->data + learnable.arena_offset;
    program.weight = net_.parameter_arena()->data + learnable.arena_offset;
    program.history = history_->data + learnable.arena_offset;
    program.n = learnable.blob->count();
    program.rate = rate * learnable.lr_mult;
    const float decay = parameter_.weight_decay() * learnable.decay_mult;
    program.l1 = l1 ? decay : 0;
    program.l2 = l1 ? 0 : decay;
    launch(group_, program);
  }
}

void SgdSolver::write_history(caffe::SolverState& state) const {
  for (const Net::Learnable& learnable : net_.learnable()) {
    Blob blob(group_, learnable.blob->shape());
    blob.place_data(Storage::range(history_, learnable.arena_offset, blob.count()));
    to_proto(blob, *state.add_history());
  }
}

void SgdSolver::read_history(const caffe::SolverState& state, const std::string& file) {
  const auto& learnables = net_.learnable();
  if (static_cast<std::size_t>(state.history_size()) != learnables.size())
    throw FileError(file,
                    "holds the history of " + std::to_string(state.history_size()) + " blobs, the net has " +
                        std::to_string(learnables.size()),
                    "it is truncated, or of another net or solver type");
  CORTADO_LOG(info) << "SGDSolver: restoring history";
  for (std::size_t i = 0; i < learnables.size(); ++i) {
    const Net::Learnable& learnable = learnables[i];
    const caffe::BlobProto& stored = state.history(static_cast<int>(i));
    const std::string what = "history of layer '" + learnable.layer + "', blob " + std::to_string(learnable.index);
    if (!fits(stored, learnable.blob->shape()))
      throw FileError(file, what + " has shape " + to_string(shape_of(stored)) + ", the net's blob has " +
                                to_string(learnable.blob->shape()));
    const std::vector<float> values = values_of(stored, file + ", " + what);
    group_.copy(history_->data + learnable.arena_offset, values.data(), values.size() * sizeof(float));
    group_.wait();  // `values` must outlive the copy
  }
}

}  // namespace cortado
