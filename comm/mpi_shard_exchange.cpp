#include "comm/mpi_shard_exchange.h"

#include <algorithm>
#include <cmath>

#include "comm/collective/messages.h"
#include "comm/wait/calls.h"
#include "core/base/error.h"

namespace cortado {
namespace {
constexpr const char* name = "divided layers";

/// Null for floats as they are: they need no codec's blocks.
const Codec* coding(const std::string& codec) { return codec == "fp32" ? nullptr : &find_codec(codec); }

HostValues host_span(const float* values, i64 count) { return {const_cast<float*>(values), count, Precision::fp32}; }
}  // namespace

MpiShardExchange::MpiShardExchange(MPI_Comm communicator, CoreGroup& group, Timeline* timeline)
    : group_(group), timeline_(timeline) {
  communicator_ = duplicate(communicator);
  team_.communicator = communicator_;
  rank_ = team_.rank();
  size_ = team_.size();
}

MpiShardExchange::~MpiShardExchange() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (std::uncaught_exceptions() == 0) release(communicator_);  // collective
}

std::string MpiShardExchange::why_not(const std::string& codec) const {
  const auto& all = codecs();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Codec* one) { return one->name() == codec; });
  if (found == all.end()) return "codec '" + codec + "' is not known";
  if ((*found)->needs_state())
    return "codec '" + codec + "' adds what it leaves out to the next values, and the next activations are others'";
  if (std::isfinite((*found)->limit())) return "codec '" + codec + "' holds sizes below 2 only, which is for weights";
  int threads = MPI_THREAD_SINGLE;
  MPI_Query_thread(&threads);
  if (size() > 1 && threads < MPI_THREAD_MULTIPLE) return "this MPI library lets one thread call it at a time";
  return "";
}

MpiShardExchange::Buffer MpiShardExchange::take_buffer(const Codec* codec, i64 floats) {
  const auto fits = [&](const Buffer& buffer) {
    return buffer.floats == floats && (buffer.codes.bytes() > 0) == (codec != nullptr);
  };
  const auto found = std::find_if(free_.begin(), free_.end(), fits);
  Buffer buffer;
  if (found != free_.end()) {
    buffer = std::move(*found);
    free_.erase(found);
    return buffer;
  }
  buffer.floats = floats;
  if (codec != nullptr) buffer.codes = ClusterMemory(group_, static_cast<std::size_t>(floats) * 4);
  if (!group_.spec().host_memory) buffer.host.resize(static_cast<std::size_t>(floats));
  return buffer;
}

/// The memory of the buffer that messages reach.
HostValues MpiShardExchange::span_of(Buffer& buffer, i64 floats) const {
  return host_span(group_.spec().host_memory ? buffer.codes.as<float>() : buffer.host.data(), floats);
}

/// The values to send, which are complete once the group has waited.
HostValues MpiShardExchange::encode(Exchange& exchange, const Outgoing& out) {
  const Codec* const codec = exchange.codec;
  if (is_direct(codec)) return host_span(out.values, out.count);
  const i64 floats = floats_of(codec, out.count);
  exchange.sent.push_back(take_buffer(codec, floats));
  Buffer& buffer = exchange.sent.back();
  if (codec != nullptr) codec->encode(group_, out.values, out.count, nullptr, buffer.codes.get());
  if (!group_.spec().host_memory) {
    const void* const from = codec != nullptr ? buffer.codes.get() : out.values;
    group_.copy(buffer.host.data(), from, static_cast<std::size_t>(floats) * 4);
  }
  return span_of(buffer, floats);
}

i64 MpiShardExchange::start(const std::string& codec, const std::vector<Outgoing>& out,
                            const std::vector<Incoming>& in) {
  const i64 number = started_++;
  Exchange exchange;
  exchange.codec = coding(codec);
  const Outgoing* before = nullptr;
  for (const Outgoing& one : out) {
    const bool is_same = before != nullptr && before->values == one.values && before->count == one.count;
    exchange.sends.push_back({one.to, is_same ? exchange.sends.back().span : encode(exchange, one)});
    before = &one;
  }
  for (const Incoming& one : in) {
    if (is_direct(exchange.codec)) {
      exchange.receives.push_back({one.from, host_span(one.values, one.count)});
      continue;
    }
    const i64 floats = floats_of(exchange.codec, one.count);
    Arrival arrival{one, take_buffer(exchange.codec, floats)};
    exchange.receives.push_back({one.from, span_of(arrival.buffer, floats)});
    exchange.arrivals.push_back(std::move(arrival));
  }
  group_.wait();
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back(&exchanges_.emplace(number, std::move(exchange)).first->second);
  }
  changed_.notify_all();
  return number;
}

void MpiShardExchange::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Exchange& exchange = *queue_.front();
    queue_.pop_front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      if (!failure_) see_through(exchange);
    } catch (...) { failure = std::current_exception(); }
    lock.lock();
    if (failure) failure_ = failure;
    exchange.is_through = true;
    changed_.notify_all();
  }
}

void MpiShardExchange::see_through(Exchange& exchange) const {
  i64 bytes = 0;
  for (const Message& one : exchange.sends) bytes += one.span.bytes();
  const TimelineSpan span(timeline_, name, std::to_string(bytes / 1024) + " KiB", "activations");
  Messages messages(team_, name);
  for (const Message& one : exchange.receives) messages.receive(one.peer, one.span);
  for (const Message& one : exchange.sends) messages.send(one.peer, one.span);
  messages.wait(0);
}

void MpiShardExchange::deliver(const Codec* codec, Arrival& arrival) {
  Buffer& buffer = arrival.buffer;
  const auto bytes = static_cast<std::size_t>(buffer.floats) * 4;
  void* const on_cluster = codec != nullptr ? buffer.codes.get() : arrival.to.values;
  if (!group_.spec().host_memory) group_.copy(on_cluster, buffer.host.data(), bytes);
  if (codec != nullptr) codec->decode(group_, on_cluster, arrival.to.count, arrival.to.values);
}

void MpiShardExchange::finish(i64 number) {
  Exchange exchange;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto at = exchanges_.find(number);
    changed_.wait(lock, [&] { return at->second.is_through; });
    exchange = std::move(at->second);
    exchanges_.erase(at);
    if (failure_) std::rethrow_exception(failure_);
  }
  for (Arrival& arrival : exchange.arrivals) deliver(exchange.codec, arrival);
  if (!exchange.arrivals.empty()) group_.wait();  // until then buffers are read
  for (Arrival& arrival : exchange.arrivals) free_.push_back(std::move(arrival.buffer));
  for (Buffer& buffer : exchange.sent) free_.push_back(std::move(buffer));
}

std::vector<float> MpiShardExchange::gather(const std::vector<float>& own, const std::vector<i64>& counts) const {
  Messages messages(team_, name);
  if (rank() != 0) {
    messages.send(0, host_span(own.data(), static_cast<i64>(own.size())));
    messages.wait(0);
    return {};
  }
  std::vector<float> all(own);
  for (std::size_t r = 1; r < counts.size(); ++r) all.resize(all.size() + static_cast<std::size_t>(counts[r]));
  i64 first = counts[0];
  for (int r = 1; r < size(); ++r) {
    const i64 count = counts[static_cast<std::size_t>(r)];
    messages.receive(r, host_span(all.data() + first, count));
    first += count;
  }
  messages.wait(0);
  return all;
}

std::vector<float> MpiShardExchange::scatter(const std::vector<float>& all, const std::vector<i64>& counts) const {
  Messages messages(team_, name);
  const i64 own_count = counts[static_cast<std::size_t>(rank())];
  if (rank() != 0) {
    std::vector<float> own(static_cast<std::size_t>(own_count));
    messages.receive(0, host_span(own.data(), own_count));
    messages.wait(0);
    return own;
  }
  i64 first = own_count;
  for (int r = 1; r < size(); ++r) {
    const i64 count = counts[static_cast<std::size_t>(r)];
    messages.send(r, host_span(all.data() + first, count));
    first += count;
  }
  messages.wait(0);
  return {all.begin(), all.begin() + own_count};
}

}  // namespace cortado
