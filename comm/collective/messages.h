#pragma once
#include <string>
#include <vector>

#include "comm/collective/collective.h"

namespace cortado {

/// The messages of one collective, on their way until `wait`. They may have any length: long ones go in pieces that fit
/// MPI's int. Messages between two ranks arrive in the order in which they were sent.
class Messages {
 public:
  /// `name` is the collective's, for errors.
  Messages(const Team& team, const std::string& name) : team_(team), what_("collective '" + name + "'") {}
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  void send(int to, const HostValues& values);
  void receive(int from, const HostValues& values);
  /// Waits for all messages. `step` is the collective's step, for errors. Throws WaitError when nothing moves for the
  /// patience.
  void wait(int step);

 private:
  template <class Post>
  void post(int peer, bool incoming, const HostValues& values, Post post_piece);
  std::vector<int> missing() const;

  const Team& team_;
  const std::string what_;
  std::vector<MPI_Request> requests_;
  struct Peer {
    int rank;
    bool incoming;
  };
  std::vector<Peer> peers_;  // of requests_
};

/// Waits until all ranks have called it.
void meet(const Team& team);

/// The first value of block `i`, where n values make `blocks` nearly equal blocks. The first n % blocks are longer by
/// one.
inline i64 block_begin(i64 n, i64 blocks, i64 i) { return n / blocks * i + (i < n % blocks ? i : n % blocks); }
inline HostValues block_of(const HostValues& values, i64 blocks, i64 first, i64 last) {
  const i64 begin = block_begin(values.count, blocks, first), end = block_begin(values.count, blocks, last);
  return values.part(begin, end - begin);
}

/// The team's memory for `count` received values.
HostValues scratch(const Team& team, const HostValues& like, i64 count);

/// The chunk that takes least where a further chunk costs `further` seconds, and its bytes are waited for `a_byte`
/// seconds each before all links are busy: C* = sqrt(n further / a_byte). It is at most `bytes`, and at least 4 KB.
constexpr i64 least_chunk = 4096;
i64 best_chunk(i64 bytes, double further, double a_byte);

/// The least integer not below log2(n), for n >= 1.
inline int log2_ceiling(i64 n) {
  int bits = 0;
  while ((i64{1} << bits) < n) ++bits;
  return bits;
}

}  // namespace cortado
