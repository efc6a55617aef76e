#include "comm/exchange/coded_allreduce.h"

#include <algorithm>
#include <cmath>

#include "comm/collective/messages.h"
#include "core/base/error.h"

namespace cortado {

CodedAllreduce::CodedAllreduce(JobTeam& job, CoreGroup& group, const Codec& codec, Way way)
    : job_(job), group_(group), codec_(codec), way_(way) {
  if (std::isfinite(codec.limit()))
    throw ConfigError("codec '" + codec.name() + "'", "cannot code gradients: it holds sizes below 2 only",
                      "it is for weights, which exchange 'master' sends; choose another one");
}

CodedAllreduce::Part CodedAllreduce::part(int rank) const {
  const i64 blocks = (values_ + codec_.block() - 1) / codec_.block(), ranks = job_.topology().ranks();
  const i64 first = block_begin(blocks, ranks, rank) * codec_.block();
  const i64 end = block_begin(blocks, ranks, rank + 1) * codec_.block();
  return {std::min(first, values_), std::min(end, values_) - std::min(first, values_)};
}

void CodedAllreduce::make_memory(i64 values) {
  if (values == values_) return;
  values_ = values;
  const int ranks = job_.topology().ranks(), own = job_.team().rank();
  codes_.clear();
  arrived_.clear();
  for (int r = 0; r < ranks; ++r) codes_.emplace_back(group_, codec_.encoded_bytes(part(r).count));
  const i64 longest = codec_.encoded_bytes(part(0).count), own_bytes = codec_.encoded_bytes(part(own).count);
  for (int r = 0; r < (way_ == Way::ring ? 1 : ranks); ++r)
    arrived_.emplace_back(group_, way_ == Way::ring ? longest : own_bytes);
  if (!codec_.needs_state()) return;
  state_ = ClusterMemory(group_, static_cast<std::size_t>(values) * 4);
  sums_state_ = ClusterMemory(group_, static_cast<std::size_t>(part(own).count) * 4);
  group_.zero(state_.get(), state_.bytes());
  group_.zero(sums_state_.get(), sums_state_.bytes());
}

/// `state` is the part's own.
void CodedAllreduce::encode(int part_of, const float* gradients, float* state, const CodeMemory& to) const {
  const Part p = part(part_of);
  codec_.encode(group_, gradients + p.first, p.count, state, to.cluster());
}

void CodedAllreduce::reduce_once(float* gradients) {
  const int ranks = job_.topology().ranks(), own = job_.team().rank();
  const Part mine = part(own);
  Messages messages(job_.team(), "coded");
  for (int r = 0; r < ranks; ++r)
    if (r != own) messages.receive(r, arrived_[static_cast<std::size_t>(r)].message());
  for (int k = 1; k <= ranks; ++k) {  // the own part last; neighbours first, so that nobody gets all at once
    const int to = (own + k) % ranks;
    const CodeMemory& code = codes_[static_cast<std::size_t>(to)];
    float* const state = codec_.needs_state() ? state_.as<float>() + part(to).first : nullptr;
    encode(to, gradients, state, code);
    if (to == own) break;
    code.to_message(group_);
    messages.send(to, code.message());
  }
  messages.wait(1);
  for (int r = 0; r < ranks; ++r) {  // always in the same order: the same bits from run to run
    const CodeMemory& from = r == own ? codes_[static_cast<std::size_t>(r)] : arrived_[static_cast<std::size_t>(r)];
    if (r != own) from.from_message(group_);
    if (r == 0)
      codec_.decode(group_, from.cluster(), mine.count, gradients + mine.first);
    else
      codec_.decode_add(group_, from.cluster(), mine.count, gradients + mine.first);
  }
}

void CodedAllreduce::reduce_by_ring(float* gradients) {
  const int ranks = job_.topology().ranks(), own = job_.team().rank();
  const int right = (own + 1) % ranks, left = (own + ranks - 1) % ranks;
  for (int step = 1; step < ranks; ++step) {  // the own part arrives last
    const int leaves = (own + ranks - step) % ranks, comes = (leaves + ranks - 1) % ranks;
    const CodeMemory &sent = codes_[static_cast<std::size_t>(leaves)], &arrived = arrived_[0];
    float* const state = codec_.needs_state() ? state_.as<float>() + part(leaves).first : nullptr;
    encode(leaves, gradients, state, sent);
    sent.to_message(group_);
    Messages messages(job_.team(), "coded_ring");
    const Part p = part(comes);
    messages.receive(left, arrived.message().part(0, codec_.encoded_bytes(p.count) / 4));
    messages.send(right, sent.message());
    messages.wait(step);
    arrived.from_message(group_);
    codec_.decode_add(group_, arrived.cluster(), p.count, gradients + p.first);
  }
}

/// Everybody gets every owner's code and decodes it.
void CodedAllreduce::share(float* gradients) {
  const int ranks = job_.topology().ranks(), own = job_.team().rank();
  const CodeMemory& mine = codes_[static_cast<std::size_t>(own)];
  encode(own, gradients, sums_state_.as<float>(), mine);
  mine.to_message(group_);
  Messages messages(job_.team(), way_ == Way::once ? "coded" : "coded_ring");
  const int right = (own + 1) % ranks, left = (own + ranks - 1) % ranks;
  for (int step = 1; step < ranks; ++step) {
    const auto sent = static_cast<std::size_t>((own + ranks - step + 1) % ranks);
    const auto comes = static_cast<std::size_t>((own + ranks - step) % ranks);
    messages.receive(left, codes_[comes].message());
    messages.send(right, codes_[sent].message());
    messages.wait(ranks + step);
    codes_[comes].from_message(group_);
  }
  for (int r = 0; r < ranks; ++r) {
    const Part p = part(r);
    codec_.decode(group_, codes_[static_cast<std::size_t>(r)].cluster(), p.count, gradients + p.first);
  }
}

float CodedAllreduce::finish(Net& net) {
  const int ranks = job_.topology().ranks();
  if (ranks == 1) return 1;
  const Storage& gradients = *net.gradient_arena();
  make_memory(gradients.count);
  if (way_ == Way::once)
    reduce_once(gradients.data);
  else
    reduce_by_ring(gradients.data);
  share(gradients.data);
  group_.wait();
  return 1.0f / static_cast<float>(ranks);
}

}  // namespace cortado
