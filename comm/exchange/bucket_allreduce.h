#pragma once
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/job_team.h"
#include "core/base/timeline.h"
#include "core/solver/gradient_exchange.h"

namespace cortado {

/// Gradients sent while backward goes on. Layers' gradients lie in the arena in the order in which they become final.
/// So final gradients grow from its beginning, and a bucket is a range:
///
///   arena  [ bucket 0 | bucket 1 | final, not sent | not final yet        ]
///            the last layers' gradients     ...      the first layers' gradients
///
/// A thread sums buckets over ranks, one after another. A layer's gradients wait for the next ones while latency is
/// more than a fifth of the bucket's cost by the model. Sending both together then takes less. Large layers' gradients
/// go in pieces, of which latency is a fiftieth. Buckets are the same on all ranks, and so are the bits of sums.
///
/// The waiting bucket that became final last goes first. The next forward needs it first, and need not wait for the
/// others (start, wait_for). Rank 0 says which one it is, since ranks do not reach a layer at the same time.
class BucketAllreduce : public GradientExchange {
 public:
  /// Duplicates the communicator. `algorithm` as in JobTeam. `timeline` records the buckets; nullptr means no record.
  /// `network` has the cost model's constants, the same on all ranks; nullptr means that they are measured. Throws
  /// ConfigError for an unknown algorithm, and where MPI does not let several threads call it.
  BucketAllreduce(MPI_Comm communicator, CoreGroup& group, const TopologyOptions& options,
                  std::vector<CollectiveRule> rules, std::string algorithm, Timeline* timeline = nullptr,
                  const Network* network = nullptr);
  ~BucketAllreduce() override;
  BucketAllreduce(const BucketAllreduce&) = delete;
  BucketAllreduce& operator=(const BucketAllreduce&) = delete;

  void layer_finished(Net& net, std::size_t index) override;
  /// Sends the rest and waits for all buckets. Throws what the thread threw.
  float finish(Net& net) override;
  bool comes_in_parts() const override { return true; }
  float start(Net& net) override;
  void wait_for(Net& net, i64 first, i64 count) override;

  i64 buckets() const { return sent_buckets_; }  ///< sent so far

 private:
  struct Bucket {
    HostValues values;
    i64 first;  ///< in the arena
    bool is_summed = false;
  };

  double cost(i64 bytes) const;
  i64 values_of_piece() const;
  bool is_worth_sending(i64 values) const;
  void send(Net& net, i64 end);
  void send(float* values, i64 first, i64 count);
  void work();
  std::size_t chosen_by_root(std::size_t own);
  void sum(std::size_t index, const HostValues& values);

  CoreGroup& group_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::unique_ptr<JobTeam> job_;
  const std::string algorithm_;
  Timeline* const timeline_;
  Network network_;
  std::shared_ptr<Storage> arena_;  // the net's; it stays until the thread has ended, whatever happens to the net
  std::vector<i64> final_;          // Net::final_gradients
  i64 piece_ = 0;                   // values
  i64 sent_ = 0;                    // of this iteration
  i64 sent_buckets_ = 0;
  std::shared_ptr<Storage> staging_;  // releasing it waits for copies out of it

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Bucket> buckets_;  // an iteration's, in the order in which they became final
  std::size_t waiting_ = 0;      // the number of buckets that are not summed
  bool ends_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace cortado
