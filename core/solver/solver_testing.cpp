#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/solver/finite.h"
#include "core/solver/solver_state.h"

namespace cortado {
namespace {
/// Layers that read must not give NaN or Inf, whatever the others make of their values.
void require_finite_data(const Net& net) {
  for (const auto& entry : net.layers())
    for (std::size_t i = 0; entry.bottom.empty() && i < entry.top.size(); ++i) {
      if (entry.top[i]->group().spec().timing_only) continue;
      const auto values = entry.top[i]->data_vector();
      if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }))
        throw NumericError("layer '" + entry.layer->name() + "'", "gives NaN or Inf in '" + entry.top_names[i] + "'",
                           "look at its data");
    }
}

/// The first layer without statistics, so that it divides by nearly nothing; empty if there is none.
std::string without_statistics(const Net& net) {
  for (const auto& entry : net.layers())
    if (!entry.layer->blobs().empty() && !entry.layer->blobs()[0]->group().spec().timing_only &&
        entry.layer->lacks_statistics())
      return entry.layer->name();
  return "";
}
}  // namespace

std::string makers_of(const Net& net, const std::string& layer) {
  std::string text = "layer '" + layer + "'";
  const auto& layers = net.layers();
  const auto first =
      std::find_if(layers.begin(), layers.end(), [&](const Net::Entry& entry) { return entry.layer->name() == layer; });
  for (auto later = first; later != layers.end(); ++later)
    if (later != first && std::find_first_of(later->top.begin(), later->top.end(), first->top.begin(),
                                             first->top.end()) != later->top.end())
      text += " or '" + later->layer->name() + "'";
  return text;
}

void require_finite_outputs(Net& net) {
  bool all = true;
  for (const Net::Output& output : net.outputs())
    for (const float value : output.blob->data_vector()) all = all && std::isfinite(value);
  if (all) return;
  const std::string bad = net.first_not_finite();
  throw NumericError(makers_of(net, bad), "has NaN or Inf in its weights or values: the scores mean nothing",
                     "look at the weights; training that diverged leaves such");
}

void require_finite_weights(const Net& net) {
  for (const auto& entry : net.layers())
    for (const auto& blob : entry.layer->blobs()) {
      if (blob->group().spec().timing_only) continue;
      const auto values = blob->data_vector();
      if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }))
        throw NumericError("layer '" + entry.layer->name() + "'",
                           "has NaN or Inf in its weights: nothing can be scored with them",
                           "take other weights; training that diverged leaves such");
    }
}

std::vector<Solver::Score> scores_of(const OutputSums& sums, const Net& net, i64 passes) {
  std::vector<Solver::Score> scores;
  for (const auto& mean : sums.means(net, passes)) scores.push_back({mean.name, mean.value, mean.loss_weight});
  for (const auto& name : sums.left_out(net))
    CORTADO_LOG(warning) << "Output '" << name << "' of net '" << net.name() << "' changes its size: it has no mean";
  return scores;
}

std::string score_line(const char* phase, std::size_t index, const Solver::Score& score) {
  std::ostringstream line;
  line << "    " << phase << " net output #" << index << ": " << score.name << " = " << score.value;
  if (score.loss_weight != 0)
    line << " (* " << score.loss_weight << " = " << score.loss_weight * score.value << " loss)";
  return line.str();
}

void Solver::State::test_all() {
  if (test_nets.empty()) return;
  complete_update();
  {
    auto scored = std::make_unique<Scored>(*this);
    for (std::size_t i = 0; i < test_nets.size() && !stopped; ++i) test(i, scored);
  }
  if (!stopped) snapshot_best();
}

/// Which score snapshot_best names. Throws ConfigError where no test net has such an output.
void Solver::State::find_best_output() {
  const std::string& name = parameter.snapshot_best();
  if (name.empty()) return;
  std::string all;
  for (std::size_t i = 0; i < test_nets.size(); ++i) {
    std::size_t index = 0;
    for (const Net::Output& output : test_nets[i]->outputs()) {
      if (output.name == name && output.blob->count() > 0) {
        best_output = {name, i, index};
        prefix();  // it has to have one
        return;
      }
      all += (all.empty() ? "" : ", ") + output.name;
      index += static_cast<std::size_t>(output.blob->count());
    }
  }
  throw ConfigError("solver", "snapshot_best: '" + name + "' is no output of a test net",
                    all.empty() ? "give a test net, test_iter and test_interval" : "outputs are: " + all);
}

/// For other ranks' passes, in which this one has none: what divided layers need. Layers that only take, like those
/// that write files, are left out.
void Solver::State::assist(Net& tested) {
  for (std::size_t i = 0; i < tested.end_of_divided(); ++i)
    if (!tested.layers()[i].top.empty()) tested.forward(i, i + 1);
}

void Solver::State::test(std::size_t index, std::unique_ptr<Scored>& scored) {
  CORTADO_LOG(info) << "Iteration " << iteration << ", Testing net (#" << index << ")";
  const auto begin = Clock::now();
  Net& tested = *test_nets[index];
  const int passes = parameter.test_iter(static_cast<int>(index));
  double loss = 0;
  require_finite_weights(tested);
  const std::string unready = without_statistics(tested);
  if (!unready.empty())
    CORTADO_LOG(warning) << "layer '" << unready
                         << "' has no statistics yet: the scores of this test mean nothing (test_initialization: false "
                            "leaves it out)";
  OutputSums& sums = test_sums[index];
  sums.clear();
  tested.run().parameter_version = ++tests;
  for (int first = 0; first < passes; first += replicas.size()) {
    const Merged merged = merge(0, false);
    if (merged.snapshot) {
      scored.reset();
      snapshot();
      scored = std::make_unique<Scored>(*this);
    }
    if (merged.stop) {
      stopped = true;
      CORTADO_LOG(info) << "Test interrupted.";
      return;
    }
    tested.run().pass = first + replicas.rank();
    if (tested.run().pass >= passes) {
      assist(tested);
      continue;
    }
    tested.forward();
    if (unready.empty())
      require_finite_outputs(tested);
    else
      require_finite_data(tested);
    if (parameter.test_compute_loss()) loss += tested.loss();
    sums.add(tested);
  }
  sums.merge(replicas);
  replicas.sum(&loss, 1);
  if (parameter.test_compute_loss()) CORTADO_LOG(info) << "Test loss: " << loss / passes;
  scores[index] = scores_of(sums, tested, passes);
  for (std::size_t i = 0; i < scores[index].size(); ++i) CORTADO_LOG(info) << score_line("Test", i, scores[index][i]);
  if (keeps_record()) options.record->tested(iteration, index, seconds_since(begin), scores[index]);
}

}  // namespace cortado
