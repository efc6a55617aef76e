#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/net/net.h"
#include "core/net/replicas.h"
#include "core/tuner/tuning_key.h"

namespace caffe {
class CortadoTuningFile;
}

namespace cortado {

/// Which candidate was the fastest at which work: what `cortado tune` finds out and later runs use. An entry holds for
/// one direction and shape (with its batch), and has the key of the machine that it was measured on. Where several
/// machines did the same work, the one nearest to this holds (TuningKey::distance), never one of another backend.
class TuningTable {
 public:
  /// `own` is the key of this process.
  explicit TuningTable(TuningKey own);

  /// Adds the entries of a tuning file, which win over those of equal keys that are there. Throws FileError, and
  /// ConfigError naming the line, or the version of a file that a newer Cortado wrote.
  void read(const std::string& file);
  /// Writes all entries, ordered by machine, beside the file and renames it.
  void write(const std::string& file) const;
  /// Gives all ranks rank 0's entries, and its key to look them up by, so that all take the same plans. Collective.
  void take_from_root(const Replicas& replicas);

  void set(const PlanOption& option, double seconds);
  /// What the table says for the net's layers: of every direction, the nearest entry whose candidate can do the work.
  PlanBook plans_for(const Net& net) const;
  /// The layouts that it says, for NetOptions.
  std::map<std::string, Layout> layouts() const;
  /// For the log: "tuning: 11 of 13 layers from tuning.prototxt", of the layers that have a choice. Entries of other
  /// machines are counted, with what is different there.
  std::string coverage(const Net& net) const;
  bool empty() const { return entries_.empty(); }

 private:
  using Work = std::pair<std::string, std::string>;  // direction, shape
  struct Best {
    std::string candidate;
    double seconds = 0;
    std::string file;  ///< it was read from; empty: set here
  };
  using Measured = std::map<TuningKey, Best>;
  /// An entry for a piece of work.
  struct Found {
    const TuningKey* key = nullptr;
    const Best* best = nullptr;
    TuningKey::Distance distance{};
  };
  caffe::CortadoTuningFile message() const;
  void add(const caffe::CortadoTuningFile& tuning, const std::string& file);
  /// The nearest entry whose candidate is accepted; its `best` is nullptr where there is none.
  template <class Accepts>
  Found nearest(const Measured& measured, const Accepts& accepts) const;
  /// By direction, for the options of a layer.
  std::map<std::string, Found> found_for(const std::vector<PlanOption>& options) const;

  TuningKey own_;
  std::map<Work, Measured> entries_;
  std::vector<std::string> files_;  // in order of reading
};

}  // namespace cortado
