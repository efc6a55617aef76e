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

/// The fastest candidates by work, which `cortado tune` measures and later runs use. An entry holds for one direction
/// and shape (with its batch), and has the key of its machine. If several machines did the same work, the nearest to
/// this one counts (TuningKey::distance). One of another backend never counts, nor one with more than four times the
/// threads, or less than a quarter.
class TuningTable {
 public:
  /// `own` is the key of this process.
  explicit TuningTable(TuningKey own);

  /// Adds the entries of a tuning file, which replace present entries of equal keys. Throws FileError. Throws
  /// ConfigError naming the line, or the version of a file that a newer Cortado wrote.
  void read(const std::string& file);
  /// Writes all entries, ordered by machine, beside the file and renames it.
  void write(const std::string& file) const;
  /// Gives all ranks rank 0's entries and its key, so that all take the same plans. Collective.
  void take_from_root(const Replicas& replicas);

  void set(const PlanOption& option, double seconds);
  /// The plans for the net's layers: in every direction, the nearest entry whose candidate can do the work.
  PlanBook plans_for(const Net& net) const;
  /// The measured layouts, for NetOptions.
  std::map<std::string, Layout> layouts() const;
  /// The layers of a net that have an entry.
  struct Coverage {
    i64 with_choice = 0;  ///< layers that have a choice of plans
    i64 covered = 0;      ///< of these, the layers with an entry
    i64 elsewhere = 0;    ///< of these, the layers whose entry is another machine's
    std::string text;     ///< a line for people, which tells the differences of other machines
  };
  Coverage cover(const Net& net) const;
  /// Its line, for the log: "tuning: 11 of 13 layers from tuning.prototxt".
  std::string coverage(const Net& net) const { return cover(net).text; }
  bool empty() const { return entries_.empty(); }

 private:
  using Work = std::pair<std::string, std::string>;  // direction, shape
  struct Best {
    std::string candidate;
    double seconds = 0;
    std::string file;  ///< the file it comes from; empty means that this process set it
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
  /// The entries found for a layer's options, by direction.
  std::map<std::string, Found> found_for(const std::vector<PlanOption>& options) const;

  TuningKey own_;
  std::map<Work, Measured> entries_;
  std::vector<std::string> files_;  // in order of reading
};

}  // namespace cortado
