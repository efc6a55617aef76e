#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "core/base/timeline.h"
#include "core/data/batch_source.h"
#include "parallel_io/feed/transformer.h"
#include "parallel_io/feed/worker_pool.h"
#include "parallel_io/sets/data_set.h"

namespace cortado {

/// Reads batches ahead into a ring of request.prefetch batches. A thread reads (swCaffe section V-B: "an I/O thread to
/// prefetch one mini-batch"), and a few helpers decode and transform. The ring and two batches in use are all the
/// memory. Samples of a batch have one shape. A batch of one sample may have its own shape; its place in the ring grows
/// for it.
class Prefetcher : public BatchSource {
 public:
  /// `timeline` records the reader's work in a lane, with the number of ready batches; nullptr means no record.
  /// `makers` make the samples of the fields, in their order; empty means transformers.
  using Makers = std::vector<std::unique_ptr<SampleMaker>>;
  static Makers transformers_of(const DataSet& set, const BatchRequest& request);
  /// Batches beside those that are read ahead.
  static constexpr int batches_in_use = 2;
  Prefetcher(std::unique_ptr<DataSet> set, const BatchRequest& request, CoreGroup& group, Timeline* timeline = nullptr,
             Makers makers = {});
  ~Prefetcher() override;

  const std::vector<Shape>& sample_shapes() const override { return shapes_; }
  i64 samples() const override { return set_->samples(); }
  std::shared_ptr<const Batch> take(i64 first, i64 stride) override;
  std::shared_ptr<const Batch> take_if_ready() override;
  Statistics statistics() const override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Slot : Batch {
    std::vector<std::shared_ptr<Storage>> rooms;  // room for the fields, which may need less
    std::exception_ptr failure;
  };
  /// Unused batches. It outlives the prefetcher where a batch does.
  struct Pool {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::unique_ptr<Slot>> free;
  };

  void read_ahead();
  void fill(Slot& slot);
  void prepare(std::size_t field, Slot& slot);
  float* room_for(const Shape& shape, std::size_t field, i64 sample, Slot& slot);
  void expect(i64 first, i64 stride);
  std::shared_ptr<const Batch> take_ready();

  CoreGroup& group_;
  std::unique_ptr<DataSet> set_;
  const i64 batch_, skip_;
  const SampleOrder order_;
  const Makers makers_;
  Timeline* const timeline_;
  const std::string lane_;
  std::vector<Shape> shapes_;
  std::shared_ptr<Pool> pool_ = std::make_shared<Pool>();

  // The reader thread uses these.
  std::vector<i64> indices_;
  std::vector<Values> values_;
  WorkerPool workers_;

  // pool_->mutex guards these.
  std::deque<std::unique_ptr<Slot>> ready_;
  i64 next_ = -1;      // the first position of the batch to be read; -1 means that nothing is wanted yet
  i64 expected_ = -1;  // the first position of the batch to be taken
  i64 last_ = -1;      // the first position of the batch taken last
  i64 stride_ = 0;
  i64 generation_ = 0;  // counts series of batches; those of an earlier series are dropped
  bool stopping_ = false;
  Statistics statistics_;

  std::thread reader_;
};

}  // namespace cortado
