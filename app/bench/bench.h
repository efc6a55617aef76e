#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/command_line/shared_flags.h"
#include "app/command_line/verb.h"
#include "app/report/report.h"
#include "app/session/session.h"
#include "app/session/session_flags.h"
#include "core/machine/limits/limits.h"

namespace cortado {

/// A kind of `cortado bench`: it prints a table and writes --json, as docs/use/benchmarks.md says. Times are the core
/// group's own, wall or simulated.
class Bench : public Verb {
 public:
  void add_to(Flags& flags) final;
  int run(const MpiJob& job) final;

 protected:
  virtual void add_own(Flags& flags) = 0;  ///< behind the flags of all kinds
  virtual void measure(Session& session) = 0;

  /// Prints the report, then `below`, and writes --json.
  void show(const Session& session, const Report& report, const std::string& below) const;

  SessionFlags session_;

 private:
  std::string json_;
};

/// --set and --batch: the nets that are timed.
struct SetFlags {
  std::vector<std::string> sets;  ///< folders of models/, or net prototxts
  i64 batch = 0;                  ///< images; 0 means as the set says

  /// Adds both flags. The present sets are the default.
  void add_to(Flags& flags);
};

/// --set for a verb that takes one net.
void add_one_set(Flags& flags, std::string& set, const std::string& what);

/// The header of a report on nets: the kind of bench, "conv", and its other options.
nlohmann::json bench_options(const std::string& kind, const SetFlags& sets, const Limits& limits,
                             const std::string& plan = "all");

/// "742.4 Gflop/s, 28.0 GB/s"
std::string to_string(const Limits& limits);

}  // namespace cortado
