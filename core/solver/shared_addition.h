#pragma once
#include "core/machine/core_group.h"

namespace cortado {

/// Additions that all core groups of a process share (swCaffe section V-A: "sum operations after data gathering are
/// implemented on four CPE clusters"). Core group 0 asks for them; each core group adds a part. The bits are those of
/// core group 0 alone.
class SharedAddition {
 public:
  /// The part of [0, n) that core group `index` of `groups` adds. Parts begin at multiples of Net::arena_alignment. Few
  /// values are the part of one core group, by `turn`.
  struct Part {
    i64 first, count;
  };
  static Part part_of(i64 n, int index, int groups, i64 turn = 0);

  /// y += x for n values that core groups reach, and waits. Core group 0 adds alone while no others serve, and where n
  /// is small.
  void add(CoreGroup& group, const float* x, float* y, i64 n);

  /// Core group 0's, while it lives: all others serve.
  class Service {
   public:
    Service(SharedAddition& addition, GroupBarrier& barrier, int groups) : addition_(addition) {
      addition_.barrier_ = &barrier;
      addition_.groups_ = groups;
    }
    ~Service() { addition_.barrier_ = nullptr; }
    /// Lets the others go on. Collective.
    void end();

   private:
    SharedAddition& addition_;
  };
  /// The others': adds parts until Service::end. Throws PeerError if core group 0 fails.
  void serve(CoreGroup& group, GroupBarrier& barrier, int groups);

 private:
  void add_part(CoreGroup& group, int groups) const;

  GroupBarrier* barrier_ = nullptr;
  int groups_ = 1;
  const float* x_ = nullptr;
  float* y_ = nullptr;
  i64 count_ = 0;  // 0: the end
};

}  // namespace cortado
