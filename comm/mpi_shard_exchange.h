#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/codec/codec.h"
#include "comm/collective/collective.h"
#include "core/base/timeline.h"
#include "core/net/shard_exchange.h"

namespace cortado {

/// Exchanges between the ranks of divided layers over MPI. The first exchange starts a thread. It completes one
/// exchange after another while the core group computes.
class MpiShardExchange : public ShardExchange {
 public:
  /// Duplicates the communicator; borrows the rest. `timeline` records the exchanges; nullptr means no record.
  /// Collective.
  MpiShardExchange(MPI_Comm communicator, CoreGroup& group, Timeline* timeline = nullptr);
  ~MpiShardExchange() override;
  MpiShardExchange(const MpiShardExchange&) = delete;
  MpiShardExchange& operator=(const MpiShardExchange&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string why_not(const std::string& codec) const override;
  i64 start(const std::string& codec, const std::vector<Outgoing>& out, const std::vector<Incoming>& in) override;
  /// Throws what the thread threw.
  void finish(i64 exchange) override;
  std::vector<float> gather(const std::vector<float>& own, const std::vector<i64>& counts) const override;
  std::vector<float> scatter(const std::vector<float>& all, const std::vector<i64>& counts) const override;

 private:
  /// Memory for a message that does not lie in the caller's memory, used again and again. Codes lie on the cluster.
  /// Host memory serves where messages do not reach the cluster's memory.
  struct Buffer {
    i64 floats = 0;
    ClusterMemory codes;
    std::vector<float> host;
  };
  struct Message {
    int peer;
    HostValues span;
  };
  struct Arrival {
    Incoming to;
    Buffer buffer;
  };
  struct Exchange {
    const Codec* codec = nullptr;  // nullptr means floats as they are
    std::vector<Message> sends, receives;
    std::vector<Buffer> sent;  // of `sends`
    std::vector<Arrival> arrivals;
    bool is_through = false;
  };

  i64 floats_of(const Codec* codec, i64 values) const { return codec ? codec->encoded_bytes(values) / 4 : values; }
  bool is_direct(const Codec* codec) const { return codec == nullptr && group_.spec().host_memory; }
  Buffer take_buffer(const Codec* codec, i64 floats);
  HostValues span_of(Buffer& buffer, i64 floats) const;
  HostValues encode(Exchange& exchange, const Outgoing& out);
  void deliver(const Codec* codec, Arrival& arrival);
  void work();
  void see_through(Exchange& exchange) const;

  CoreGroup& group_;
  Timeline* const timeline_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  Team team_;
  int rank_ = 0, size_ = 1;
  std::vector<Buffer> free_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<i64, Exchange> exchanges_;  // by number; those that are not finished
  std::deque<Exchange*> queue_;        // for the thread
  i64 started_ = 0;
  bool ends_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace cortado
