#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "comm/job.h"
#include "core/machine/machine_spec.h"

namespace cortado {

/// The output of every measuring verb: rows for people as an aligned table, and for programs as JSON, one object per
/// row:
///   {"header": {"machine": ..., "build": ..., "software": ..., "options": ...}, "rows": [...]}
class Report {
 public:
  /// A column: the row's key, the table's heading, digits after the point for numbers.
  struct Column {
    std::string key, heading;
    int digits = 2;
  };
  Report(std::vector<Column> columns, const MachineSpec& machine, nlohmann::json options);

  /// A row's values by column key; keys without a column appear in the JSON only.
  void add(nlohmann::json row) { rows_.push_back(std::move(row)); }
  /// Sets the summary of the rows; "summary" in the JSON.
  void summarize(nlohmann::json summary) { summary_ = std::move(summary); }

  std::string table() const;
  /// Throws FileError.
  void write_json(const std::string& file) const;

 private:
  std::vector<Column> columns_;
  nlohmann::json header_, rows_, summary_;
};

/// Prints the table, then `below`, on rank 0, and writes the JSON to `json` unless that is empty. Throws FileError.
void show(const Report& report, const MpiJob& job, const std::string& below, const std::string& json);

/// The JSON as text, on one line if `indent` is -1. Bytes of names that are no UTF-8, as old nets have them, become
/// U+FFFD.
std::string json_text(const nlohmann::json& json, int indent = -1);
/// The machine as JSON, the form of reports and device_query.
nlohmann::json to_json(const MachineSpec& machine);
/// Version, compiler, backend and build type of this program.
nlohmann::json build_description();
/// `backend_software` by name.
nlohmann::json software_description();

}  // namespace cortado
