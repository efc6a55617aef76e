#include "app/doctor/file_facts.h"
#include "app/doctor/rank_facts.h"
#include "app/measure/dry_runs.h"
#include "app/start/start_fields.h"
#include "app/start/start_files.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/mistakes.h"
#include "core/formats/caffe.pb.h"
#include "core/net/passes/net_text.h"
#include "core/solver/solver_parameter.h"
#include "parallel_io/feed/sources.h"

namespace cortado::doctor {
namespace {
SetFacts look_at_set(const caffe::LayerParameter& layer, const std::string& which, const BatchRequest& wanted) {
  SetFacts set;
  set.which = which;
  set.source = wanted.source;
  try {
    const std::unique_ptr<DataSet> opened = open_data(wanted, 0);
    if (opened->samples() == 0) set.error = wanted.source + ": has no samples";
    if (!layer.transform_param().mean_file().empty()) expect_readable(layer.transform_param().mean_file());
  } catch (const Error& error) { set.error = error.what(); }
  set.files = files_of(wanted);
  return set;
}

void look_at_sets(const caffe::NetParameter& unfiltered, const std::string& which, std::vector<SetFacts>& sets) {
  const caffe::NetParameter net = filter_layers(unfiltered);
  for (const auto& layer : net.layer()) {
    const BatchRequest wanted = request_of(layer);
    if (!wanted.source.empty()) sets.push_back(look_at_set(layer, which + "layer '" + layer.name() + "'", wanted));
  }
}

/// One line of an error that may have several.
std::string told(const Error& error) {
  std::string text;
  for (const std::string& line : lines_of(error)) text += (text.empty() ? "" : "; ") + line;
  return text;
}
}  // namespace

SolverFacts look_at_solver(const NetState& state, const std::string& file) {
  SolverFacts facts;
  facts.file = file;
  try {
    caffe::SolverParameter solver;
    read_solver_for(state, file, solver);
    cortado::check_solver(solver);
    look_at_sets(training_net(solver).net, "", facts.sets);
    const auto tests = test_nets(solver);
    for (std::size_t i = 0; i < tests.size(); ++i)
      look_at_sets(tests[i].net, "test net " + std::to_string(i) + ": ", facts.sets);
    for (const std::string& files : solver.weights()) expect_readable(files);
    if ((solver.snapshot() > 0 || solver.snapshot_after_train()) && !solver.snapshot_prefix().empty())
      facts.snapshots = writable_folder(folder_of(solver.snapshot_prefix()));
    add_solver(solver, facts.fields);
  } catch (const Error& error) { facts.error = told(error); }
  return facts;
}

NetFacts look_at_net(Session& session, const NetState& state, const std::string& file, const TuningTable& tuning) {
  NetFacts facts;
  try {
    caffe::SolverParameter solver;
    read_solver_for(state, file, solver);
    const DryRuns runs(session, solver, tuning);
    const TuningTable::Coverage coverage = tuning.cover(runs.net());
    facts.tuning = coverage.text.substr(coverage.text.find(' ') + 1);  // behind "tuning: "
    facts.with_choice = coverage.with_choice;
    facts.tuned = coverage.covered;
    facts.elsewhere = coverage.elsewhere;
    const MemoryNeed need = runs.need();
    facts.memory = need.total();
    if (need.snapshot > 0) facts.snapshot = need.parameters + need.history;
  } catch (const Error& error) { facts.error = told(error); }
  return facts;
}

}  // namespace cortado::doctor
