#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/net/net.h"

namespace caffe {
class CortadoTuning;
}

namespace cortado {

/// Which candidate was the fastest at which work: what `cortado tune` finds out and later runs use. An entry holds for
/// one backend, machine, build, direction, type and shape (with its batch).
class TuningTable {
 public:
  /// `machine` and `build` are those of this process: entries of others are kept and not used.
  TuningTable(const MachineSpec& machine, const std::string& build);

  /// Adds the entries of a tuning file, which win over those that are there. Throws FileError, and ConfigError naming
  /// the line, or the version of a file that a newer Cortado wrote.
  void read(const std::string& file);
  /// Writes all entries, ordered, beside the file and renames it.
  void write(const std::string& file) const;

  void set(const PlanOption& option, double seconds);
  /// What the table says for the net's layers, as far as they can do it.
  PlanBook plans_for(const Net& net) const;
  /// The layouts that it says, for NetOptions.
  std::map<std::string, Layout> layouts() const;
  /// For the log: "tuning: 11 of 13 layers from tuning.prototxt", of the layers that have a choice.
  std::string coverage(const Net& net) const;
  bool empty() const { return entries_.empty(); }

 private:
  struct Key {
    std::string backend, machine, build, direction, type, shape;
    bool operator<(const Key& other) const;
  };
  struct Choice {
    std::string candidate;
    double seconds;
    std::string file;  ///< it was read from; empty: set here
  };
  /// The choice that holds for the option; nullptr: there is none, or it is another candidate.
  const Choice* choice_of(const PlanOption& option) const;
  Key key_of(const PlanOption& option) const;

  std::string backend_, machine_, build_;
  std::map<Key, Choice> entries_;
  std::vector<std::string> files_;  // in order of reading
};

}  // namespace cortado
