#include "comm/exchange/coded_sum.h"

#include <algorithm>
#include <cmath>

#include "comm/collective/messages.h"
#include "core/base/error.h"
#include "core/machine/integers.h"

namespace cortado {
namespace {
constexpr i64 alignment = 256;  // what devices and DMA want
}

CodedSum::CodedSum(JobTeam& job, CoreGroup& group, const Codec& codec, Way way)
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

i64 CodedSum::begin(i64 values, int part) const {
  const i64 blocks = (values + codec_.block() - 1) / codec_.block();
  return std::min(block_begin(blocks, ranks_, part) * codec_.block(), values);
}

i64 CodedSum::own_part(i64 values) const { return begin(values, schedule_.own + 1) - begin(values, schedule_.own); }

CodedSum::Range CodedSum::parts(int first, int last) const {
  const i64 start = begin(count_, first);
  return {start, begin(count_, last) - start, first * part_bytes_, (last - first) * part_bytes_};
}

std::vector<CodedSum::Range> CodedSum::ranges(int first, int last) const {
  const int begin = first % ranks_, end = begin + last - first;
  if (end <= ranks_) return {parts(begin, end)};
  return {parts(begin, ranks_), parts(0, end - ranks_)};
}

void CodedSum::reduce_once() {
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
    codec_.encode(group_, values_ + part.first, part.count, left_out(part), codes_.cluster(part.place));
    if (p == own) break;
    codes_.to_message(group_, part.place, bytes_of(part));
    messages.send(schedule_.owners[static_cast<std::size_t>(p)], codes_.message(part.place, bytes_of(part)));
  }
  messages.wait(1);
  for (int p = 0; p < ranks_; ++p) {  // always in the same order: the same bits from run to run
    if (p != own) arrived_.from_message(group_, from(p), bytes_of(mine));
    const void* const code = (p == own ? codes_ : arrived_).cluster(from(p));
    if (p == 0)
      codec_.decode(group_, code, mine.count, values_ + mine.first);
    else
      codec_.decode_add(group_, code, mine.count, values_ + mine.first);
  }
}

void CodedSum::reduce_by_hops() {
  Messages messages(job_.team(), "coded_hops");
  int number = 0;
  for (const CirculantStep& step : schedule_.steps) {
    const auto added = ranges(step.added_first, step.added_last);
    group_.wait();  // what arrived in the last step is copied before more arrives in the same place
    for (const Range& range : added) messages.receive(step.from, arrived_.message(range.place, bytes_of(range)));
    for (const Range& range : ranges(step.sent_first, step.sent_last)) {
      codec_.encode(group_, values_ + range.first, range.count, left_out(range), codes_.cluster(range.place));
      codes_.to_message(group_, range.place, bytes_of(range));
      messages.send(step.to, codes_.message(range.place, bytes_of(range)));
    }
    messages.wait(++number);
    for (const Range& range : added) {
      arrived_.from_message(group_, range.place, bytes_of(range));
      codec_.decode_add(group_, arrived_.cluster(range.place), range.count, values_ + range.first);
    }
  }
}

/// Everybody gets every owner's code and decodes it. What lies between codes goes along.
void CodedSum::share(float* left_out_of_sums) {
  const int own = schedule_.own;
  const Range mine = parts(own, own + 1);
  codec_.encode(group_, values_ + mine.first, mine.count, left_out_of_sums, codes_.cluster(mine.place));
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
    codec_.decode(group_, codes_.cluster(part.place), part.count, values_ + part.first);
  }
}

void CodedSum::run(float* values, i64 count, float* left_out, float* left_out_of_sums) {
  if (ranks_ == 1) return;
  values_ = values;
  count_ = count;
  left_out_ = left_out;
  part_bytes_ = round_up(bytes_of(parts(0, 1)), alignment);  // the first one is the longest
  if (codes_.bytes() < ranks_ * part_bytes_) {
    codes_ = CodeMemory(group_, ranks_ * part_bytes_);
    arrived_ = CodeMemory(group_, ranks_ * part_bytes_);
  }
  if (way_ == Way::once)
    reduce_once();
  else
    reduce_by_hops();
  share(left_out_of_sums);
  group_.wait();
}

LeftOut::LeftOut(CoreGroup& group, i64 values, i64 sums)
    : values_(values), memory_(group, static_cast<std::size_t>(values + sums) * 4) {
  group.zero(memory_.get(), memory_.bytes());
  group.wait();
}

std::vector<float> LeftOut::read(CoreGroup& group) const {
  std::vector<float> values(memory_.bytes() / 4);
  if (values.empty()) return values;
  group.copy(values.data(), memory_.get(), memory_.bytes());
  group.wait();
  return values;
}

bool LeftOut::write(CoreGroup& group, const std::vector<float>& values) {
  if (values.size() * 4 != memory_.bytes()) return false;
  if (values.empty()) return true;
  group.copy(memory_.get(), values.data(), memory_.bytes());
  group.wait();
  return true;
}

}  // namespace cortado
