#pragma once
#include <string>
#include <vector>

#include "core/base/types.h"

namespace cortado {

/// The ranks over which layers may be divided, and how values get from one to another while these compute; comm
/// implements it over MPI. All ranks make the same calls in the same order, from one thread each.
class PartExchange {
 public:
  virtual ~PartExchange() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Why values cannot travel here as codes of that codec (comm/codec); empty: they can.
  virtual std::string why_not(const std::string& codec) const = 0;

  /// Cluster memory that goes to another rank, or that another rank's values go to.
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
  /// Encodes and begins to send, and to receive: at most one message from each rank to each. Waits for what the core
  /// group has queued, not for messages. All memory is left alone until `finish`. The same values to several ranks,
  /// given one after another, are encoded once. Returns the exchange's number.
  virtual i64 start(const std::string& codec, const std::vector<Outgoing>& out, const std::vector<Incoming>& in) = 0;
  /// Waits for the messages, and queues what makes values of codes. Each exchange is finished once.
  virtual void finish(i64 exchange) = 0;

  /// Host memory: rank 0 gets the ranks' values one after another, of which there are `counts`; others get nothing.
  virtual std::vector<float> gather(const std::vector<float>& own, const std::vector<i64>& counts) const = 0;
  /// The other way.
  virtual std::vector<float> scatter(const std::vector<float>& all, const std::vector<i64>& counts) const = 0;
};

}  // namespace cortado
