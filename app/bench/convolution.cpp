#include "layers/convolution/convolution.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "app/bench/bench.h"
#include "app/bench/convolution_times.h"
#include "app/measure/measure.h"
#include "app/measure/net_sets.h"
#include "app/report/progress_bar.h"
#include "core/base/error.h"
#include "core/formats/caffe.pb.h"

namespace cortado {
namespace {

using Candidates = std::vector<const ConvolutionCandidate*>;

/// The candidates of --plan: all, the one of that name, or those with the name as a word ("paper": "implicit_paper").
Candidates candidates_of(const std::string& plan) {
  Candidates exact, by_word;
  std::string names;
  for (const auto& candidate : convolution_candidates()) {
    const std::string& name = candidate.name;
    names += (names.empty() ? "" : ", ") + name;
    if (name == plan) exact.push_back(&candidate);
    if (plan == "all" || ("_" + name + "_").find("_" + plan + "_") != std::string::npos) by_word.push_back(&candidate);
  }
  if (exact.empty() && by_word.empty())
    throw ConfigError("--plan " + plan, "no convolution candidate has that name", "take all or one of: " + names);
  return exact.empty() ? by_word : exact;
}

std::vector<ConvolutionDirection> directions_of(const std::vector<std::string>& names) {
  std::vector<ConvolutionDirection> directions;
  for (const auto direction : convolution_directions)
    if (names.empty() || std::find(names.begin(), names.end(), to_string(direction)) != names.end())
      directions.push_back(direction);
  return directions;
}

/// The convolutions of a set, layer by layer, in the directions that training needs.
std::vector<ConvolutionTimes> read_convolutions(const Session& session, const std::string& set, i64 batch,
                                                const std::vector<ConvolutionDirection>& directions) {
  caffe::NetParameter parameter;
  read_set(set, batch, parameter);
  cut_behind_last("Convolution", set, parameter);
  start_with_zeros(parameter);
  const Net net(parameter, session.net_options());
  std::vector<ConvolutionTimes> list;
  std::set<std::string> data;  // has no gradient
  for (const auto& entry : net.layers()) {
    if (entry.bottom.empty()) data.insert(entry.top_names.begin(), entry.top_names.end());
    const auto* const layer = dynamic_cast<const ConvolutionLayer*>(entry.layer.get());
    if (layer == nullptr) continue;
    for (const auto direction : directions)
      if (direction != ConvolutionDirection::input_gradient || data.count(entry.bottom_names[0]) == 0)
        list.push_back({layer->name(), direction, layer->shape(), {}});
  }
  return list;
}

i64 weights_of(const ConvolutionShape& s) { return s.oc * s.terms(); }

double compulsory_bytes(const ConvolutionShape& s) {
  return static_cast<double>(bytes_of(s.precision) * s.mb * (s.src_image() + s.dst_image()) + 4 * weights_of(s));
}

/// Activations in blocks of channels, where channels allow it.
void lay_in_blocks(ConvolutionShape& s) {
  if (s.group_ic() % block_channels == 0) s.src = Layout::nchw16c;
  if (s.group_oc() % block_channels == 0) s.dst = Layout::nchw16c;
}

ClusterMemory activations(CoreGroup& group, Precision precision, i64 count) {
  return precision == Precision::bf16 ? numbers<bf16>(group, count) : numbers<float>(group, count);
}

/// The arrays of a convolution, of which every direction reads two and writes the third, and a candidate's workspace.
struct Operands {
  Operands(CoreGroup& group, const ConvolutionShape& s, i64 workspace_floats)
      : src(activations(group, s.precision, s.mb * s.src_image())),
        weights(numbers<float>(group, weights_of(s))),
        dst(activations(group, s.precision, s.mb * s.dst_image())),
        workspace(numbers<float>(group, workspace_floats)) {}

  ConvolutionArguments arguments(ConvolutionDirection direction) const {
    auto* const w = weights.as<float>();
    void *const x = src.get(), *const y = dst.get();
    if (direction == ConvolutionDirection::forward) return {x, w, nullptr, y};
    if (direction == ConvolutionDirection::weight_gradient) return {x, nullptr, y, w};
    return {nullptr, w, y, x};
  }

  ClusterMemory src, weights, dst, workspace;
};

PlanTime time_plan(CoreGroup& group, const ConvolutionCandidate& candidate, const ConvolutionTimes& cell) {
  const ConvolutionPlan plan = candidate.plan(group, cell.shape, cell.direction);
  PlanTime result{candidate.name, 0, plan.refused};
  if (!result.refused.empty()) return result;
  std::optional<Operands> operands;
  try {
    operands.emplace(group, cell.shape, plan.workspace);
  } catch (const Error& no_memory) {
    result.refused = no_memory.what();
    return result;
  }
  result.seconds =
      seconds_of(group, [&] { plan.run(group, operands->arguments(cell.direction), operands->workspace.as<float>()); });
  return result;
}

/// Fills in the times. Layers of the same shape share one measurement.
void time_convolutions(CoreGroup& group, const Candidates& candidates, std::vector<ConvolutionTimes>& list) {
  std::map<std::string, std::vector<PlanTime>> known;
  const auto each = static_cast<i64>(candidates.size());
  ProgressBar bar("timing convolutions");
  for (std::size_t i = 0; i < list.size(); ++i) {
    ConvolutionTimes& cell = list[i];
    auto& plans = known[std::string(to_string(cell.direction)) + cell.shape.text()];
    for (std::size_t c = plans.size(); c < candidates.size(); ++c) {
      bar.show(static_cast<i64>(i) * each + static_cast<i64>(c), static_cast<i64>(list.size()) * each,
               cell.layer + " " + to_string(cell.direction) + " " + candidates[c]->name);
      plans.push_back(time_plan(group, *candidates[c], cell));
    }
    cell.plans = plans;
  }
}

nlohmann::json row_of(const ConvolutionTimes& cell, const PlanTime& plan, const PublishedConvolutions& published,
                      const Limits& limits) {
  const std::string direction = to_string(cell.direction);
  nlohmann::json row = {
      {"layer", cell.layer}, {"direction", direction}, {"shape", cell.shape.text()}, {"plan", plan.plan}};
  const auto paper = published.seconds(cell.layer, direction, family_of(plan.plan));
  row["paper_seconds"] = paper ? nlohmann::json(*paper) : nlohmann::json();
  row["chosen"] = &plan == cell.quickest();
  if (!plan.refused.empty()) {
    row["refused"] = plan.refused;
    row["seconds"] = row["gflops"] = row["roofline_share"] = nullptr;
    return row;
  }
  row["seconds"] = plan.seconds;
  row["gflops"] = cell.shape.flops() / plan.seconds / 1e9;
  row["roofline_share"] = roofline_share(limits, cell.shape.flops(), compulsory_bytes(cell.shape), plan.seconds);
  return row;
}

/// The refusals of candidates, a line for each reason.
std::string refusals(const std::vector<ConvolutionTimes>& list) {
  std::map<std::string, std::string> layers;
  for (const auto& cell : list)
    for (const auto& plan : cell.plans)
      if (!plan.refused.empty())
        layers[plan.plan + " " + to_string(cell.direction) + " cannot run: " + plan.refused] += " " + cell.layer;
  std::string text;
  for (const auto& [reason, names] : layers) text += reason + ":" + names + "\n";
  return text;
}

class BenchConvolution : public Bench {
  void add_own(Flags& flags) override;
  void measure(Session& session) override;

  SetFlags sets_{{"vgg16"}};
  std::string plan_ = "all";
  bool blocks_ = false;
  std::vector<std::string> directions_;
};

void BenchConvolution::add_own(Flags& flags) {
  sets_.add_to(flags);
  flags.add("--plan", plan_, "Candidate, or a word of candidates' names; default all");
  flags.add_switch("--blocks", blocks_, "Activations in blocks of sixteen channels, where there are so many");
  session_.add_precision(flags);
  flags.add("--directions", directions_, "forward, weight_gradient, input_gradient; default all three")
      .one_of({"forward", "weight_gradient", "input_gradient"});
}

void BenchConvolution::measure(Session& session) {
  if (sets_.sets.size() != 1) throw ConfigError("--set", "bench conv takes one set");
  const std::string& set = sets_.sets.front();
  const Candidates candidates = candidates_of(plan_);
  auto list = read_convolutions(session, set, sets_.batch, directions_of(directions_));
  for (auto& cell : list) {
    cell.shape.precision = session.precision;
    if (blocks_) lay_in_blocks(cell.shape);
  }
  const i64 batch = list.empty() ? 0 : list.front().shape.mb;
  const PublishedConvolutions published = published_convolutions(set, batch);
  const Limits limits = limits_of(session.group);
  time_convolutions(session.group, candidates, list);

  Report report({{"layer", "layer"},
                 {"direction", "direction"},
                 {"plan", "plan"},
                 {"seconds", "s", 4},
                 {"gflops", "Gflop/s", 1},
                 {"chosen", "chosen"},
                 {"paper_seconds", "paper s", 2},
                 {"roofline_share", "of roofline", 3}},
                session.group.spec(), bench_options("conv", sets_, limits, plan_));
  for (const auto& cell : list)
    for (const auto& plan : cell.plans) report.add(row_of(cell, plan, published, limits));
  std::string below = refusals(list) + "roofline: " + to_string(limits) + "\n";
  if (!published.layers.empty()) {
    const Comparison comparison = compare(list, published);
    report.summarize(comparison.json());
    below += "paper: " + published.source + "\n" + comparison.text();
  }
  show(session, report, below);
}

}  // namespace

std::unique_ptr<Verb> make_bench_convolution() { return std::make_unique<BenchConvolution>(); }

}  // namespace cortado
