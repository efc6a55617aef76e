#pragma once
#include "core/net/layer.h"

namespace cortado {

/// Brings batches from a source to the blobs of one core group.
class Feeder {
 public:
  virtual ~Feeder() = default;
  /// Makes the batch at `first` the values of `top`, and its shape that of `top` behind the number of samples, on the
  /// compute stream. `stride` is as in BatchSource::take. The reads of the batch before must have been queued.
  virtual void feed(i64 first, i64 stride, const Layer::Blobs& top) = 0;
};

/// Feeds clusters whose memory is the host's: blobs are the staging memory itself.
class ZeroCopyFeeder : public Feeder {
 public:
  ZeroCopyFeeder(CoreGroup& group, BatchSource& source) : group_(group), source_(source) {}
  void feed(i64 first, i64 stride, const Layer::Blobs& top) override;

 private:
  CoreGroup& group_;
  BatchSource& source_;
  std::shared_ptr<const Batch> held_;
};

/// Feeds other clusters. It copies on a stream of its own into two buffers in turn. It begins with batch n + 1, if that
/// has been read, before batch n is computed (ScaleDNN section IV-B). Each core group gets its own samples from the
/// host (IV-A).
class Preload : public Feeder {
 public:
  Preload(CoreGroup& group, BatchSource& source) : group_(group), source_(source), copies_(group.make_stream()) {}
  ~Preload() override;
  void feed(i64 first, i64 stride, const Layer::Blobs& top) override;

 private:
  struct Buffer {
    i64 first = -1;  // what it holds
    std::vector<std::shared_ptr<Storage>> fields;
    std::vector<Shape> shapes;
    std::shared_ptr<const Batch> from;  // until it is copied
    CoreGroup::Event copied;
  };
  void load(Buffer& buffer, std::shared_ptr<const Batch> batch);
  void forget(Buffer& buffer);

  CoreGroup& group_;
  BatchSource& source_;
  const Stream copies_;
  Buffer buffers_[2];
  std::size_t next_ = 0;
};

/// The baseline of ScaleDNN's comparison (section III): core group 0 gets the process's whole batch, then the others
/// copy their parts from its memory. Nothing overlaps. `source` gives whole batches and is core group 0's.
class MasterScatter : public Feeder {
 public:
  MasterScatter(CoreGroup& group, BatchSource& source, const Replicas& replicas)
      : group_(group), source_(source), replicas_(replicas) {}
  void feed(i64 first, i64 stride, const Layer::Blobs& top) override;

 private:
  using Fields = std::vector<std::shared_ptr<Storage>>;
  CoreGroup& group_;
  BatchSource& source_;
  const Replicas& replicas_;
  Fields whole_;
};

}  // namespace cortado
