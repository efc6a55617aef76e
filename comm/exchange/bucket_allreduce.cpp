#include "comm/exchange/bucket_allreduce.h"

#include <algorithm>

#include "comm/collective/measure_network.h"
#include "core/base/error.h"

namespace cortado {

BucketAllreduce::BucketAllreduce(MPI_Comm communicator, CoreGroup& group, const TopologyOptions& options,
                                 double patience, std::vector<CollectiveRule> rules, std::string algorithm,
                                 Timeline* timeline)
    : group_(group), algorithm_(std::move(algorithm)), timeline_(timeline) {
  int threads = MPI_THREAD_SINGLE;
  MPI_Query_thread(&threads);
  if (threads < MPI_THREAD_MULTIPLE)
    throw ConfigError("exchange 'buckets'", "cannot run: this MPI library lets one thread call it at a time",
                      "use exchange 'packed'");
  MPI_Comm_dup(communicator, &communicator_);
  job_ = std::make_unique<JobTeam>(communicator_, std::make_unique<HostSum>(), options, patience);
  job_->set_rules(std::move(rules));
  job_->allreduce(algorithm_, 0);
  network_ = measure_network(job_->team());
  thread_ = std::thread([this] { work(); });
}

BucketAllreduce::~BucketAllreduce() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
  job_.reset();
  if (std::uncaught_exceptions() == 0) MPI_Comm_free(&communicator_);  // collective
}

bool BucketAllreduce::is_worth_sending(i64 values) const {
  const i64 bytes = values * 4;
  const auto cost = [&](i64 n) {
    return circulant().cost(network_, shape_of(job_->topology()), n, Team().chunk_bytes, Team().radix);
  };
  return values > 0 && cost(bytes) >= 5 * cost(0);
}

void BucketAllreduce::layer_finished(Net& net, std::size_t index) {
  if (job_->topology().ranks() == 1) return;
  if (arena_ != net.gradient_arena()) {
    arena_ = net.gradient_arena();
    final_ = net.final_gradients();
  }
  if (is_worth_sending(final_[index] - sent_)) send(net, final_[index]);
}

void BucketAllreduce::send(Net& net, i64 end) {
  const i64 count = end - sent_;
  if (count == 0) return;
  const Storage& gradients = *net.gradient_arena();
  float* values = gradients.data + sent_;
  if (!group_.spec().host_memory) {
    staging_.resize(static_cast<std::size_t>(gradients.count));
    values = staging_.data() + sent_;
    group_.copy(values, gradients.data + sent_, static_cast<std::size_t>(count) * 4);
  }
  group_.wait();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back({values, count, Precision::fp32});
  }
  changed_.notify_all();
  sent_ = end;
  ++buckets_;
}

void BucketAllreduce::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Span bucket = queue_.front();
    lock.unlock();
    try {
      const TimelineSpan span(timeline_, "exchange", std::to_string(bucket.bytes() / 1024) + " KiB", "bucket");
      if (!failure_) job_->run(job_->allreduce(algorithm_, bucket.bytes()), bucket);
    } catch (...) { failure_ = std::current_exception(); }
    lock.lock();
    queue_.pop_front();
    changed_.notify_all();
  }
}

float BucketAllreduce::finish(Net& net) {
  const int ranks = job_->topology().ranks();
  if (ranks == 1) return 1;
  const Storage& gradients = *net.gradient_arena();
  send(net, gradients.count);
  sent_ = 0;
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty(); });
  if (failure_) std::rethrow_exception(failure_);
  if (!group_.spec().host_memory) {
    group_.copy(gradients.data, staging_.data(), staging_.size() * 4);
    group_.wait();
  }
  return 1.0f / static_cast<float>(ranks);
}

}  // namespace cortado
