#include "comm/exchange/bucket_allreduce.h"

#include <algorithm>

#include "comm/wait/calls.h"
#include "core/base/error.h"
#include "core/machine/integers.h"

namespace cortado {
namespace {
std::unique_ptr<LocalSum> sum_of(CoreGroup* helper) {
  if (helper != nullptr) return std::make_unique<ClusterSum>(*helper);
  return std::make_unique<HostSum>();
}
}  // namespace

std::string BucketAllreduce::why_not() {
  int threads = MPI_THREAD_SINGLE;
  MPI_Query_thread(&threads);
  return threads < MPI_THREAD_MULTIPLE ? "this MPI library lets one thread call it at a time" : "";
}

BucketAllreduce::BucketAllreduce(MPI_Comm communicator, CoreGroup& group, const TopologyOptions& options,
                                 std::vector<CollectiveRule> rules, std::string algorithm, Timeline* timeline,
                                 const Codec* codec, const BucketSizes& sizes, const Network* network)
    : group_(group),
      helper_(group.make_helper()),
      algorithm_(std::move(algorithm)),
      timeline_(timeline),
      sizes_(sizes) {
  if (const std::string reason = why_not(); !reason.empty())
    throw ConfigError("exchange 'buckets'", "cannot run: " + reason, "use exchange 'packed'");
  if (codec != nullptr && !helper_)
    throw ConfigError(
        "exchange 'buckets'",
        "cannot send codes: backend " + group.spec().name + " runs one program at a time, and backward has its own",
        "leave the codec out, or use exchange 'coded'");
  communicator_ = duplicate(communicator);
  job_ = std::make_unique<JobTeam>(communicator_, sum_of(helper_.get()), options);
  if (codec != nullptr) {
    coded_ = std::make_unique<CodedSum>(*job_, *helper_, *codec, CodedSum::Way::once);
  } else {
    job_->set_rules(std::move(rules));
    job_->allreduce(algorithm_, 0);
  }
  if (network != nullptr) job_->set_network(*network);
  thread_ = std::thread([this] { work(); });
}

BucketAllreduce::~BucketAllreduce() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
  coded_.reset();
  job_.reset();
  if (std::uncaught_exceptions() == 0) release(communicator_);  // collective
}

void BucketAllreduce::prepare(Net& net) {
  if (arena_ == net.gradient_arena()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  arena_ = net.gradient_arena();
  final_ = net.final_gradients();
  buckets_.clear();
  i64 begin = 0;
  const auto cut = [&](i64 end, i64 least) {
    if (end - begin < least) return;
    add_buckets(begin, end);
    begin = end;
  };
  for (std::size_t i = final_.size(); i-- > 0;) cut(final_[i], sizes_.least / 4);
  cut(arena_->count, 1);
  if (!coded_) return;
  i64 sums = 0;
  for (Bucket& bucket : buckets_) {
    bucket.left_out_of_sums = sums;
    sums += coded_->own_part(bucket.count);
  }
  if (coded_->keeps_state()) left_out_ = LeftOut(group_, arena_->count, sums);
}

void BucketAllreduce::add_buckets(i64 begin, i64 end) {
  const i64 count = end - begin, most = sizes_.most / 4, pieces = (count + most - 1) / most;
  const i64 each = round_up((count + pieces - 1) / pieces, Net::arena_alignment);
  for (i64 at = begin; at < end; at += each) buckets_.push_back({at, std::min(each, end - at)});
}

void BucketAllreduce::layer_finished(Net& net, std::size_t index) {
  if (job_->topology().ranks() == 1) return;
  prepare(net);
  if (buckets_.size() > 1) send(net, final_[index]);
}

/// Sends the buckets that end before `end`.
void BucketAllreduce::send(Net& net, i64 end) {
  std::size_t last = next_;
  while (last < buckets_.size() && buckets_[last].end() <= end) ++last;
  if (last == next_) return;
  if (!is_direct()) {
    const Storage& gradients = *net.gradient_arena();
    if (!staging_ || staging_->count < gradients.count) staging_ = Storage::make_staging(group_, gradients.count);
    const i64 first = buckets_[next_].first;
    group_.copy(staging_->data + first, gradients.data + first,
                static_cast<std::size_t>(buckets_[last - 1].end() - first) * 4);
  }
  group_.wait();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (next_ == 0) {
      require(waiting_ == 0, "the last iteration's gradients were waited for");
      is_summed_.assign(buckets_.size(), buckets_.size() == 1);
    }
    sent_buckets_ += static_cast<i64>(last - next_);
    if (buckets_.size() > 1) waiting_ += last - next_;
    sent_ = next_ = last;
  }
  if (buckets_.size() > 1) return changed_.notify_all();
  sum(0);
}

void BucketAllreduce::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || waiting_ > 0; });
    if (waiting_ == 0) return;
    std::size_t index = sent_;
    while (is_summed_[--index]) {}
    try {
      lock.unlock();
      index = chosen_by_root(index);
      lock.lock();
      changed_.wait(lock, [&] { return ends_ || index < sent_; });
      if (index >= sent_) return;  // ends without having sent it
      lock.unlock();
      sum(index);
      lock.lock();
    } catch (...) {
      lock.lock();
      failure_ = std::current_exception();
      waiting_ = 0;
      changed_.notify_all();
      return;
    }
    is_summed_[index] = true;
    --waiting_;
    changed_.notify_all();
  }
}

std::size_t BucketAllreduce::chosen_by_root(std::size_t own) {
  auto choice = static_cast<float>(own);
  job_->run(job_->broadcast("auto", sizeof choice), {&choice, 1, Precision::fp32});
  return static_cast<std::size_t>(choice);
}

void BucketAllreduce::sum(std::size_t index) {
  const Bucket& bucket = buckets_[index];
  const std::string name = std::to_string(index) + ": " + std::to_string(bucket.count / 256) + " KiB";
  const TimelineSpan span(timeline_, "exchange", name, "bucket");
  float* const values = (is_direct() ? arena_ : staging_)->data + bucket.first;
  if (coded_)
    return coded_->run(values, bucket.count, left_out_.of_values(bucket.first),
                       left_out_.of_sums(bucket.left_out_of_sums));
  job_->run(job_->allreduce(algorithm_, bucket.count * 4), {values, bucket.count, Precision::fp32});
}

float BucketAllreduce::start(Net& net) {
  const int ranks = job_->topology().ranks();
  if (ranks > 1) {
    prepare(net);
    send(net, net.gradient_arena()->count);
    next_ = 0;
  }
  return 1.0f / static_cast<float>(ranks);
}

void BucketAllreduce::wait_for(Net& net, i64 first, i64 count) {
  if (job_->topology().ranks() == 1 || count == 0) return;
  const auto is_there = [&] {
    for (std::size_t i = 0; i < buckets_.size(); ++i)
      if (!is_summed_[i] && buckets_[i].first < first + count && first < buckets_[i].end()) return false;
    return true;
  };
  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || is_there(); });
    if (failure_) std::rethrow_exception(failure_);
  }
  if (!is_direct())
    group_.copy(net.gradient_arena()->data + first, staging_->data + first, static_cast<std::size_t>(count) * 4);
}

float BucketAllreduce::finish(Net& net) {
  const float factor = start(net);
  wait_for(net, 0, net.gradient_arena()->count);
  group_.wait();
  return factor;
}

/// The buckets that what codes left out belongs to, in units that floats hold exactly.
std::vector<float> BucketAllreduce::ends() const {
  std::vector<float> ends;
  for (const Bucket& bucket : buckets_) {
    const i64 units = bucket.end() / Net::arena_alignment;
    ends.push_back(static_cast<float>(units));
  }
  return ends;
}

std::vector<float> BucketAllreduce::residuals() const {
  std::vector<float> values = left_out_.read(group_);
  if (values.empty()) return values;
  const auto last = ends();
  values.insert(values.end(), last.begin(), last.end());
  return values;
}

bool BucketAllreduce::restore_residuals(Net& net, const std::vector<float>& values) {
  if (job_->topology().ranks() > 1) prepare(net);
  if (left_out_.size() == 0) return values.empty();
  const auto last = ends();
  const auto size = static_cast<std::size_t>(left_out_.size());
  if (values.size() != size + last.size() || !std::equal(last.begin(), last.end(), values.data() + size)) return false;
  return left_out_.write(group_, {values.begin(), values.end() - static_cast<std::ptrdiff_t>(last.size())});
}

}  // namespace cortado
