#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/job_team.h"
#include "core/base/timeline.h"
#include "core/solver/gradient_exchange.h"

namespace cortado {

/// Gradients sent while backward goes on: layers' gradients lie in the arena in the order in which they become final,
/// so what is final grows from its beginning, and a bucket is a range. A thread of its own sums buckets over ranks, one
/// after another. A layer's gradients wait for the next ones while latency would be more than a fifth of what the cost
/// model says of the bucket: then sending both together takes less. Buckets are the same on all ranks, as are the bits
/// of sums.
class BucketAllreduce : public GradientExchange {
 public:
  /// Duplicates the communicator. `algorithm` as in JobTeam. `timeline` gets the buckets. Throws ConfigError for that,
  /// and where MPI does not let several threads call it.
  BucketAllreduce(MPI_Comm communicator, CoreGroup& group, const TopologyOptions& options, double patience,
                  std::vector<CollectiveRule> rules, std::string algorithm, Timeline* timeline = nullptr);
  ~BucketAllreduce() override;
  BucketAllreduce(const BucketAllreduce&) = delete;
  BucketAllreduce& operator=(const BucketAllreduce&) = delete;

  void layer_finished(Net& net, std::size_t index) override;
  /// Sends what is left and waits for all. Throws what the thread threw.
  float finish(Net& net) override;

  i64 buckets() const { return buckets_; }  ///< sent so far

 private:
  bool is_worth_sending(i64 values) const;
  void send(Net& net, i64 end);
  void work();

  CoreGroup& group_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::unique_ptr<JobTeam> job_;
  const std::string algorithm_;
  Timeline* const timeline_;
  Network network_;
  std::shared_ptr<Storage> arena_;  // the net's: it stays until the thread has ended, whatever happens to the net
  std::vector<i64> final_;          // Net::final_gradients
  i64 sent_ = 0;                    // of this iteration
  std::vector<float> staging_;
  i64 buckets_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Span> queue_;  // the first is under way
  bool ends_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace cortado
