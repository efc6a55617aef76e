#include "core/solver/shared_addition.h"

#include <algorithm>

#include "core/machine/integers.h"
#include "core/net/net.h"
#include "core/solver/core_groups.h"

namespace cortado {
namespace {
/// Fewer values than this are added before others have come.
constexpr i64 worth_sharing = 32 * 1024;
}  // namespace

SharedAddition::Part SharedAddition::part_of(i64 n, int index, int groups, i64 turn) {
  if (n < worth_sharing) return {0, turn % groups == index ? n : 0};
  const i64 each = round_up(ceil_div(n, groups), Net::arena_alignment), first = std::min(n, index * each);
  return {first, std::min(each, n - first)};
}

void SharedAddition::add(CoreGroup& group, const float* x, float* y, i64 n) {
  if (barrier_ == nullptr || n < worth_sharing) {
    add_values(group, x, y, n);
    return group.wait();
  }
  x_ = x, y_ = y, count_ = n;
  barrier_->arrive_and_wait();
  add_part(group, groups_);
  barrier_->arrive_and_wait();
}

void SharedAddition::Service::end() {
  GroupBarrier& barrier = *addition_.barrier_;
  addition_.count_ = 0;
  barrier.arrive_and_wait();
}

void SharedAddition::serve(CoreGroup& group, GroupBarrier& barrier, int groups) {
  for (;;) {
    barrier.arrive_and_wait();
    if (count_ == 0) return;
    add_part(group, groups);
    barrier.arrive_and_wait();
  }
}

void SharedAddition::add_part(CoreGroup& group, int groups) const {
  const Part part = part_of(count_, group.index(), groups);
  if (part.count > 0) add_values(group, x_ + part.first, y_ + part.first, part.count);
  group.wait();
}

}  // namespace cortado
