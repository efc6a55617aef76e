#include "comm/exchange/bucket_allreduce.h"

#include <algorithm>

#include "comm/collective/measure_network.h"
#include "comm/wait/calls.h"
#include "core/base/error.h"
#include "core/machine/integers.h"

namespace cortado {

BucketAllreduce::BucketAllreduce(MPI_Comm communicator, CoreGroup& group, const TopologyOptions& options,
                                 std::vector<CollectiveRule> rules, std::string algorithm, Timeline* timeline,
                                 const Network* network)
    : group_(group), algorithm_(std::move(algorithm)), timeline_(timeline) {
  int threads = MPI_THREAD_SINGLE;
  MPI_Query_thread(&threads);
  if (threads < MPI_THREAD_MULTIPLE)
    throw ConfigError("exchange 'buckets'", "cannot run: this MPI library lets one thread call it at a time",
                      "use exchange 'packed'");
  communicator_ = duplicate(communicator);
  job_ = std::make_unique<JobTeam>(communicator_, std::make_unique<HostSum>(), options);
  job_->set_rules(std::move(rules));
  job_->allreduce(algorithm_, 0);
  network_ = network != nullptr ? *network : measure_network(job_->team());
  piece_ = values_of_piece();
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
  if (std::uncaught_exceptions() == 0) release(communicator_);  // collective
}

double BucketAllreduce::cost(i64 bytes) const {
  return circulant().cost(network_, shape_of(job_->topology()), bytes, Team().chunk_bytes, Team().radix);
}

i64 BucketAllreduce::values_of_piece() const {
  constexpr i64 most = i64{1} << 28;
  i64 values = Net::arena_alignment;
  while (values < most && cost(values * 4) < 50 * cost(0)) values *= 2;
  return values;
}

bool BucketAllreduce::is_worth_sending(i64 values) const { return values > 0 && cost(values * 4) >= 5 * cost(0); }

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
    if (!staging_ || staging_->count < gradients.count) staging_ = Storage::make_staging(group_, gradients.count);
    values = staging_->data + sent_;
    group_.copy(values, gradients.data + sent_, static_cast<std::size_t>(count) * 4);
  }
  group_.wait();
  send(values, sent_, count);
  sent_ = end;
}

void BucketAllreduce::send(float* values, i64 first, i64 count) {
  const i64 pieces = (count + piece_ - 1) / piece_;
  const i64 values_each = round_up((count + pieces - 1) / pieces, Net::arena_alignment);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (first == 0) {
      require(waiting_ == 0, "the last iteration's gradients were waited for");
      buckets_.clear();
    }
    for (i64 at = 0; at < count; at += values_each) {
      buckets_.push_back({{values + at, std::min(values_each, count - at), Precision::fp32}, first + at});
      ++waiting_;
      ++sent_buckets_;
    }
  }
  changed_.notify_all();
}

void BucketAllreduce::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || waiting_ > 0; });
    if (waiting_ == 0) return;
    std::size_t index = buckets_.size();
    while (buckets_[--index].is_summed) {}
    try {
      lock.unlock();
      index = chosen_by_root(index);
      lock.lock();
      changed_.wait(lock, [&] { return ends_ || index < buckets_.size(); });
      if (index >= buckets_.size()) return;  // ends without having sent it
      const HostValues values = buckets_[index].values;
      lock.unlock();
      sum(index, values);
      lock.lock();
    } catch (...) {
      lock.lock();
      failure_ = std::current_exception();
      waiting_ = 0;
      changed_.notify_all();
      return;
    }
    buckets_[index].is_summed = true;
    --waiting_;
    changed_.notify_all();
  }
}

std::size_t BucketAllreduce::chosen_by_root(std::size_t own) {
  auto choice = static_cast<float>(own);
  job_->run(job_->broadcast("auto", sizeof choice), {&choice, 1, Precision::fp32});
  return static_cast<std::size_t>(choice);
}

void BucketAllreduce::sum(std::size_t index, const HostValues& values) {
  const std::string name = std::to_string(index) + ": " + std::to_string(values.bytes() / 1024) + " KiB";
  const TimelineSpan span(timeline_, "exchange", name, "bucket");
  job_->run(job_->allreduce(algorithm_, values.bytes()), values);
}

float BucketAllreduce::start(Net& net) {
  const int ranks = job_->topology().ranks();
  if (ranks > 1) send(net, net.gradient_arena()->count);
  sent_ = 0;
  return 1.0f / static_cast<float>(ranks);
}

void BucketAllreduce::wait_for(Net& net, i64 first, i64 count) {
  if (job_->topology().ranks() == 1 || count == 0) return;
  const auto is_missing = [&](const Bucket& bucket) {
    return !bucket.is_summed && bucket.first < first + count && first < bucket.first + bucket.values.count;
  };
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || std::none_of(buckets_.begin(), buckets_.end(), is_missing); });
  if (failure_) std::rethrow_exception(failure_);
  lock.unlock();
  if (!group_.spec().host_memory)
    group_.copy(net.gradient_arena()->data + first, staging_->data + first, static_cast<std::size_t>(count) * 4);
}

float BucketAllreduce::finish(Net& net) {
  const float factor = start(net);
  wait_for(net, 0, net.gradient_arena()->count);
  group_.wait();
  return factor;
}

}  // namespace cortado
