#pragma once
#include <string>
#include <vector>

#include "core/base/types.h"

namespace cortado {

/// The ranks over which layers may be divided, and the messages between them while they compute. comm implements it
/// over MPI. All ranks make the same calls in the same order, from one thread each.
class ShardExchange {
 public:
  virtual ~ShardExchange() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The reason why values cannot travel as codes of that codec (comm/codec); empty means that they can.
  virtual std::string why_not(const std::string& codec) const = 0;

  /// Cluster memory that is sent to a rank, or that receives a rank's values.
  struct Outgoing {
    int to;
    const float* values;
    i64 count;
  };
  struct Incoming {
    int from;
    float* values;
    i64 count;
  };
  /// Encodes, and begins to send and to receive at most one message from each rank to each. It waits for the core
  /// group's queue, not for messages. The caller leaves all memory alone until `finish`. Equal values to several ranks,
  /// given one after another, are encoded once. Returns the exchange's number.
  virtual i64 start(const std::string& codec, const std::vector<Outgoing>& out, const std::vector<Incoming>& in) = 0;
  /// Waits for the messages and queues their decoding. The caller finishes each exchange once.
  virtual void finish(i64 exchange) = 0;

  /// Returns on rank 0 all ranks' values, one rank after another; `counts` has the length of each. Other ranks get
  /// nothing. Host memory.
  virtual std::vector<float> gather(const std::vector<float>& own, const std::vector<i64>& counts) const = 0;
  /// Returns on each rank its piece of rank 0's `all`; `counts` as in gather. Host memory.
  virtual std::vector<float> scatter(const std::vector<float>& all, const std::vector<i64>& counts) const = 0;
};

}  // namespace cortado
