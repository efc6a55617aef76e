#pragma once
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/exchange/coded_sum.h"
#include "comm/job_team.h"
#include "core/base/timeline.h"
#include "core/solver/gradient_exchange.h"

namespace cortado {

/// The bytes of gradients, as floats, that are a bucket.
struct BucketSizes {
  /// Some fifty times the product of a network's latency and bandwidth.
  i64 least = i64{1} << 20;
  /// The next forward waits for its first layers, and so for a bucket that is under way before theirs.
  i64 most = i64{4} << 20;
};

/// Gradients sent while backward goes on. Layers' gradients lie in the arena in the order in which they become final.
/// So final gradients grow from its beginning, and a bucket is a range:
///
///   arena  [ bucket 0 | bucket 1 | final, not sent | not final yet        ]
///            the last layers' gradients     ...      the first layers' gradients
///
/// A thread sums buckets over ranks, one after another, as floats or as codes. A layer's gradients wait for the next
/// ones until they are a bucket (BucketSizes). Large layers' gradients go in several. Buckets follow from the net
/// alone, so they are the same on all ranks and in all runs, and so are the bits of sums.
///
/// The waiting bucket that became final last goes first. The next forward needs it first, and need not wait for the
/// others (start, wait_for). Rank 0 says which one it is, since ranks do not reach a layer at the same time.
///
/// A net of one bucket has nothing to overlap: the caller sums it, and the thread sleeps.
class BucketAllreduce : public GradientExchange {
 public:
  /// Duplicates the communicator, borrows the rest. `algorithm` as in JobTeam, of floats. With a `codec`, sums travel
  /// as its codes (CodedSum::Way::once), and codecs with state keep what they leave out; nullptr means floats.
  /// `timeline` records the buckets; nullptr means no record. `network` is what `auto` knows of the job's; nullptr
  /// means JobTeam's assumption. Throws ConfigError for an unknown algorithm, a codec of weights, where MPI does not
  /// let several threads call it, and where the machine cannot code beside computing. Collective.
  BucketAllreduce(MPI_Comm communicator, CoreGroup& group, const TopologyOptions& options,
                  std::vector<CollectiveRule> rules, std::string algorithm, Timeline* timeline = nullptr,
                  const Codec* codec = nullptr, const BucketSizes& sizes = {}, const Network* network = nullptr);
  ~BucketAllreduce() override;
  BucketAllreduce(const BucketAllreduce&) = delete;
  BucketAllreduce& operator=(const BucketAllreduce&) = delete;

  /// The reason why no process of this job can have such an exchange; empty means that it can.
  static std::string why_not();

  void layer_finished(Net& net, std::size_t index) override;
  /// Sends the rest and waits for all buckets. Throws what the thread threw.
  float finish(Net& net) override;
  bool comes_in_parts() const override { return true; }
  float start(Net& net) override;
  void wait_for(Net& net, i64 first, i64 count) override;
  std::vector<float> residuals() const override;
  bool restore_residuals(Net& net, const std::vector<float>& values) override;

  i64 buckets() const { return sent_buckets_; }  ///< sent so far

 private:
  struct Bucket {
    i64 first, count;          ///< in the arena
    i64 left_out_of_sums = 0;  ///< LeftOut::of_sums
    i64 end() const { return first + count; }
  };

  void prepare(Net& net);
  void add_buckets(i64 begin, i64 end);
  void send(Net& net, i64 end);
  std::vector<float> ends() const;
  void work();
  std::size_t chosen_by_root(std::size_t own);
  void sum(std::size_t index);
  /// True if what the thread sums lies where the cluster's programs reach it.
  bool is_direct() const { return coded_ != nullptr || group_.spec().host_memory; }

  CoreGroup& group_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::unique_ptr<CoreGroup> helper_;  // the thread's; nullptr means that it adds by itself
  std::unique_ptr<JobTeam> job_;
  std::unique_ptr<CodedSum> coded_;  // nullptr means floats
  const std::string algorithm_;
  Timeline* const timeline_;
  const BucketSizes sizes_;
  std::shared_ptr<Storage> arena_;  // the net's; it stays until the thread has ended, whatever happens to the net
  std::vector<i64> final_;          // Net::final_gradients
  std::vector<Bucket> buckets_;     // in the order in which they become final
  LeftOut left_out_;
  std::size_t next_ = 0;  // the next bucket to send in this iteration
  i64 sent_buckets_ = 0;
  std::shared_ptr<Storage> staging_;  // releasing it waits for copies out of it

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t sent_ = 0;         // buckets of this iteration
  std::vector<bool> is_summed_;  // by bucket
  std::size_t waiting_ = 0;      // the number of sent buckets that are not summed
  bool ends_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace cortado
