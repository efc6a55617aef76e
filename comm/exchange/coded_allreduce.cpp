#include "comm/exchange/coded_allreduce.h"

#include <algorithm>
#include <cmath>

#include "comm/collective/messages.h"
#include "core/base/error.h"
#include "core/machine/integers.h"

namespace cortado {
namespace {
constexpr i64 alignment = 256;  // what devices and DMA want
}

CodedAllreduce::CodedAllreduce(JobTeam& job, CoreGroup& group, const Codec& codec, Way way)
    : job_(job),
      group_(group),
      codec_(codec),
      way_(way),
      schedule_(job.topology(), job.team().rank()),
      ranks_(job.topology().ranks()) {
  if (std::isfinite(codec.limit()))
    throw ConfigError("codec '" + codec.name() + "'", "cannot code gradients: it holds sizes below 2 only",
                      "it is for weights, which exchange 'master' sends; choose another one");
}

CodedAllreduce::Range CodedAllreduce::parts(int first, int last) const {
  const i64 blocks = (values_ + codec_.block() - 1) / codec_.block();
  const auto begin = [&](int part) { return std::min(block_begin(blocks, ranks_, part) * codec_.block(), values_); };
  return {begin(first), begin(last) - begin(first), first * part_bytes_, (last - first) * part_bytes_};
}

std::vector<CodedAllreduce::Range> CodedAllreduce::ranges(int first, int last) const {
  const int begin = first % ranks_, end = begin + last - first;
  if (end <= ranks_) return {parts(begin, end)};
  return {parts(begin, ranks_), parts(0, end - ranks_)};
}

float* CodedAllreduce::state(const Range& range) const {
  return codec_.needs_state() ? state_.as<float>() + range.first : nullptr;
}

void CodedAllreduce::make_memory(i64 values) {
  if (values == values_) return;
  values_ = values;
  part_bytes_ = round_up(bytes_of(parts(0, 1)), alignment);  // the first one is the longest
  codes_ = CodeMemory(group_, ranks_ * part_bytes_);
  arrived_ = CodeMemory(group_, ranks_ * part_bytes_);
  if (!codec_.needs_state()) return;
  state_ = ClusterMemory(group_, static_cast<std::size_t>(values) * 4);
  sums_state_ = ClusterMemory(group_, static_cast<std::size_t>(parts(schedule_.own, schedule_.own + 1).count) * 4);
  group_.zero(state_.get(), state_.bytes());
  group_.zero(sums_state_.get(), sums_state_.bytes());
}

void CodedAllreduce::reduce_once(float* gradients) {
  const int own = schedule_.own;
  const Range mine = parts(own, own + 1);
  const auto from = [&](int p) { return parts(p, p + 1).place; };  // where what its owner sends arrives
  Messages messages(job_.team(), "coded");
  for (int p = 0; p < ranks_; ++p)
    if (p != own)
      messages.receive(schedule_.owners[static_cast<std::size_t>(p)], arrived_.message(from(p), bytes_of(mine)));
  for (int k = 1; k <= ranks_; ++k) {  // the own part last; neighbours first, so that nobody gets all at once
    const int p = (own + k) % ranks_;
    const Range part = parts(p, p + 1);
    codec_.encode(group_, gradients + part.first, part.count, state(part), codes_.cluster(part.place));
    if (p == own) break;
    codes_.to_message(group_, part.place, bytes_of(part));
    messages.send(schedule_.owners[static_cast<std::size_t>(p)], codes_.message(part.place, bytes_of(part)));
  }
  messages.wait(1);
  for (int p = 0; p < ranks_; ++p) {  // always in the same order: the same bits from run to run
    if (p != own) arrived_.from_message(group_, from(p), bytes_of(mine));
    const void* const code = (p == own ? codes_ : arrived_).cluster(from(p));
    if (p == 0)
      codec_.decode(group_, code, mine.count, gradients + mine.first);
    else
      codec_.decode_add(group_, code, mine.count, gradients + mine.first);
  }
}

void CodedAllreduce::reduce_by_hops(float* gradients) {
  Messages messages(job_.team(), "coded_hops");
  int number = 0;
  for (const CirculantStep& step : schedule_.steps) {
    const auto added = ranges(step.added_first, step.added_last);
    group_.wait();  // what arrived in the last step is copied before more arrives in the same place
    for (const Range& range : added) messages.receive(step.from, arrived_.message(range.place, bytes_of(range)));
    for (const Range& range : ranges(step.sent_first, step.sent_last)) {
      codec_.encode(group_, gradients + range.first, range.count, state(range), codes_.cluster(range.place));
      codes_.to_message(group_, range.place, bytes_of(range));
      messages.send(step.to, codes_.message(range.place, bytes_of(range)));
    }
    messages.wait(++number);
    for (const Range& range : added) {
      arrived_.from_message(group_, range.place, bytes_of(range));
      codec_.decode_add(group_, arrived_.cluster(range.place), range.count, gradients + range.first);
    }
  }
}

/// Everybody gets every owner's code and decodes it. What lies between codes goes along.
void CodedAllreduce::share(float* gradients) {
  const int own = schedule_.own;
  const Range mine = parts(own, own + 1);
  codec_.encode(group_, gradients + mine.first, mine.count, sums_state_.as<float>(), codes_.cluster(mine.place));
  codes_.to_message(group_, mine.place, mine.parts_bytes);
  Messages messages(job_.team(), way_ == Way::once ? "coded" : "coded_hops");
  int number = static_cast<int>(schedule_.steps.size()) + 1;
  const auto codes = [&](const Range& range) { return codes_.message(range.place, range.parts_bytes); };
  for (auto step = schedule_.steps.rbegin(); step != schedule_.steps.rend(); ++step) {
    for (const Range& range : ranges(step->sent_first, step->sent_last)) messages.receive(step->to, codes(range));
    for (const Range& range : ranges(step->added_first, step->added_last)) messages.send(step->from, codes(range));
    messages.wait(++number);
  }
  for (int p = 0; p < ranks_; ++p) {
    const Range part = parts(p, p + 1);
    if (p != own) codes_.from_message(group_, part.place, part.parts_bytes);
    codec_.decode(group_, codes_.cluster(part.place), part.count, gradients + part.first);
  }
}

float CodedAllreduce::finish(Net& net) {
  if (ranks_ == 1) return 1;
  const Storage& gradients = *net.gradient_arena();
  make_memory(gradients.count);
  if (way_ == Way::once)
    reduce_once(gradients.data);
  else
    reduce_by_hops(gradients.data);
  share(gradients.data);
  group_.wait();
  return 1.0f / static_cast<float>(ranks_);
}

std::vector<float> CodedAllreduce::residuals() const {
  std::vector<float> values((state_.bytes() + sums_state_.bytes()) / 4);
  if (values.empty()) return values;
  group_.copy(values.data(), state_.get(), state_.bytes());
  group_.copy(values.data() + state_.bytes() / 4, sums_state_.get(), sums_state_.bytes());
  group_.wait();
  return values;
}

bool CodedAllreduce::restore_residuals(Net& net, const std::vector<float>& values) {
  if (ranks_ > 1) make_memory(net.gradient_arena()->count);
  if (values.size() * 4 != state_.bytes() + sums_state_.bytes()) return false;
  if (values.empty()) return true;
  group_.copy(state_.get(), values.data(), state_.bytes());
  group_.copy(sums_state_.get(), values.data() + state_.bytes() / 4, sums_state_.bytes());
  group_.wait();
  return true;
}

}  // namespace cortado
