#pragma once
#include "core/data/batch_source.h"

namespace cortado {

/// Batches for which nothing is read, in as much memory as reading ahead takes: `places` batches. They hold zeros, or
/// nothing on a core group whose memory means nothing (MachineSpec::timing_only).
class ZeroSource : public BatchSource {
 public:
  /// `samples` is what the source says to have; `stored` are bytes of a batch as a reader gets it.
  ZeroSource(const std::vector<Shape>& shapes, i64 samples, i64 batch, i64 places, i64 stored, CoreGroup& group);

  const std::vector<Shape>& sample_shapes() const override { return ring_.front()->shapes; }
  i64 samples() const override { return samples_; }
  std::shared_ptr<const Batch> take(i64 first, i64 stride) override;
  std::shared_ptr<const Batch> take_if_ready() override { return nullptr; }
  Statistics statistics() const override { return {}; }

 private:
  const i64 samples_;
  std::shared_ptr<Storage> stored_;
  std::vector<std::shared_ptr<Batch>> ring_;
  std::size_t next_ = 0;
};

}  // namespace cortado
