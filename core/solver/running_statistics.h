#pragma once
#include <string>
#include <vector>

#include "core/formats/caffe.pb.h"
#include "core/net/net.h"

namespace cortado {

/// The running statistics of a training net (BatchNorm's). Every rank has its own; tests and snapshots use their mean
/// over ranks. Training goes on with each rank's own, so neither tests nor snapshots change the run.
class RunningStatistics {
 public:
  /// Borrows both.
  RunningStatistics(Net& net, const Replicas& replicas) : net_(net), replicas_(replicas) {}

  /// While it lives, the net holds the mean. Afterwards the net holds the rank's own again. One may live within
  /// another. The constructor is collective.
  class Averaged {
   public:
    explicit Averaged(RunningStatistics& statistics) : statistics_(statistics) { statistics_.average(); }
    ~Averaged() { statistics_.put_back(); }
    Averaged(const Averaged&) = delete;
    Averaged& operator=(const Averaged&) = delete;

   private:
    RunningStatistics& statistics_;
  };

  /// A state's blobs of statistics, one for each rank.
  using Stored = google::protobuf::RepeatedPtrField<caffe::BlobProto>;
  /// Writes every rank's own statistics, bit for bit, to rank 0's `stored`, if they differ. An Averaged must live.
  /// Collective.
  void write(Stored& stored) const;
  /// Sets every rank's own statistics from rank 0's `stored`. It does nothing where that is empty, or where another
  /// number of ranks wrote it. Throws FileError for statistics of another net. Collective.
  void restore(const Stored& stored, const std::string& file);

 private:
  void average();
  void put_back();
  std::vector<float> values() const;
  void set(const std::vector<float>& values);

  Net& net_;
  const Replicas& replicas_;
  std::vector<float> own_;  // this rank's own, while the net holds the mean
  int averaged_ = 0;        // the number of Averaged that live
};

}  // namespace cortado
