#pragma once
#include <functional>
#include <memory>
#include <string>

#include "app/record/metrics_file.h"
#include "core/solver/training_record.h"

namespace cortado {

/// The record of a training beside its snapshots: PREFIX_run.json says what runs, PREFIX_metrics.jsonl grows a line per
/// iteration and test. The metrics of a run that goes on follow those before. docs/use/records.md has the fields.
class RunRecord : public TrainingRecord {
 public:
  /// `description` becomes run.json, with the facts that the solver knows added. `waited_for_data` returns the seconds
  /// since its last call.
  RunRecord(std::string prefix, OrderedJson description, std::function<double()> waited_for_data);

  /// Writes run.json and opens the metrics. Throws FileError.
  void begin(const Net& net, i64 iteration) override;
  void trained(const Iteration& iteration) override;
  void tested(i64 iteration, std::size_t net, double seconds, const std::vector<OutputScore>& outputs) override;
  void end(i64 iteration, bool early) override;

 private:
  const std::string prefix_;
  OrderedJson description_;
  const std::function<double()> waited_for_data_;
  std::unique_ptr<MetricsFile> metrics_;
};

/// Outputs by name; one of several elements has a list of them.
OrderedJson to_json(const std::vector<OutputScore>& outputs);

}  // namespace cortado
