#pragma once
#include <string>
#include <vector>

#include "comm/codec/codec.h"
#include "comm/exchange/code_memory.h"
#include "comm/job_team.h"
#include "core/solver/gradient_exchange.h"

namespace cortado {

/// Rank 0, the master, gets the sum of gradients, updates, and broadcasts its weights (ScaleDNN section II-B). They
/// travel as codes unless the codec is fp32 (section IV-C). The master keeps its weights with all bits for updates and
/// snapshots. It computes with decoded weights, as all ranks do. So it does not matter whose sample it is, and one rank
/// alone trains as many do.
///
/// A blob travels as floats if codes would not make it smaller. So does a blob that holds a value that the codec cannot
/// code (Codec::limit, NaN), for as long as it holds it. An exchange serves one net at a time.
class MasterUpdate : public GradientExchange {
 public:
  /// Borrows all. Throws ConfigError for a codec with error feedback.
  MasterUpdate(JobTeam& job, CoreGroup& group, const Codec& codec);
  bool has_master() const override { return true; }
  float finish(Net& net) override;
  void share_weights(Net& net) override;
  void restore_weights(Net& net) override;

  i64 message_bytes() const { return message_bytes_; }  ///< of the last weights

 private:
  struct Part {
    std::string blob;  ///< for people
    i64 first, count;  ///< in the arena
    bool is_worth_coding;
    bool is_coded;  ///< as its values are now
    bool was_told;  ///< the log has said that it holds values that cannot be coded
    i64 place;      ///< in the message, in bytes
  };

  bool is_master() const { return job_.team().rank() == 0; }
  void broadcast(const HostValues& values);
  void share_floats(const Net& net);
  void share_codes(const Net& net);
  void list_parts(const Net& net);
  void choose_coded_parts();
  void place_parts();
  void encode() const;
  void decode(float* weights) const;
  void copy_weights(const Net& net, const float* from, float* to);

  JobTeam& job_;
  CoreGroup& group_;
  const Codec& codec_;
  std::vector<float> staging_;  // host memory, where messages do not reach the cluster's
  i64 message_bytes_ = 0;

  // These serve coded weights:
  std::shared_ptr<Storage> arena_;  // the arena of the net that the members below belong to
  ClusterMemory full_;              // the master's weights, as in the arena
  std::vector<Part> parts_;
  CodeMemory message_;
};

}  // namespace cortado
