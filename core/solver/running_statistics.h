#pragma once
#include <vector>

#include "core/net/net.h"

namespace caffe {
class CortadoState;
}

namespace cortado {

/// The running statistics of a training net (those of BatchNorm): every rank has its own, and tests and snapshots take
/// their mean over ranks. Training goes on with every rank's own, so that neither changes the run. Members that say so
/// are collective.
class RunningStatistics {
 public:
  /// Borrows both.
  RunningStatistics(Net& net, const Replicas& replicas) : net_(net), replicas_(replicas) {}

  /// While it lives, the net holds the mean; then each rank's own again. One may live within another. Making one is
  /// collective.
  class Averaged {
   public:
    explicit Averaged(RunningStatistics& statistics) : statistics_(statistics) { statistics_.average(); }
    ~Averaged() { statistics_.put_back(); }
    Averaged(const Averaged&) = delete;
    Averaged& operator=(const Averaged&) = delete;

   private:
    RunningStatistics& statistics_;
  };

  /// Rank 0's state gets every rank's own if they differ; while an Averaged lives. Bit for bit. Collective.
  void write(caffe::CortadoState& state) const;
  /// Makes every rank's own what rank 0's state holds of it. Nothing happens where it holds none, or was written by
  /// another number of ranks. Throws FileError where they are of another net. Collective.
  void restore(const caffe::CortadoState& state, const std::string& file);

 private:
  void average();
  void put_back();
  std::vector<float> values() const;
  void set(const std::vector<float>& values);

  Net& net_;
  const Replicas& replicas_;
  std::vector<float> own_;  // while the net holds the mean
  int averaged_ = 0;        // so many Averaged live
};

}  // namespace cortado
