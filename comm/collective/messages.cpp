#include "comm/collective/messages.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>
#include <set>

#include "comm/wait/calls.h"
#include "comm/wait/wait.h"

namespace cortado {
namespace {
constexpr int tag = 7301;
constexpr i64 longest = i64{1} << 30;  // bytes of one message
}  // namespace

int Team::rank() const {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  return rank;
}

int Team::size() const {
  int size = 1;
  MPI_Comm_size(communicator, &size);
  return size;
}

template <class Post>
void Messages::post(int peer, bool incoming, const HostValues& values, Post post_piece) {
  for (i64 first = 0; first < values.bytes(); first += longest) {
    const int bytes = static_cast<int>(std::min(longest, values.bytes() - first));
    requests_.emplace_back();
    peers_.push_back({peer, incoming});
    post_piece(static_cast<char*>(values.data) + first, bytes, &requests_.back());
  }
}

void Messages::send(int to, const HostValues& values) {
  post(to, false, values, [&](const char* from, int bytes, MPI_Request* request) {
    MPI_Isend(from, bytes, MPI_BYTE, to, tag, team_.communicator, request);
  });
}

void Messages::receive(int from, const HostValues& values) {
  post(from, true, values, [&](char* to, int bytes, MPI_Request* request) {
    MPI_Irecv(to, bytes, MPI_BYTE, from, tag, team_.communicator, request);
  });
}

void Messages::wait(int step) {
  constexpr int no_spins = 0;  // steps are many: where ranks share cores, the one that is waited for needs them
  Wait wait(team_.communicator, what_.c_str(), step, no_spins);
  complete_all(requests_, wait, [&] { return missing(); });
  requests_.clear();
  peers_.clear();
}

std::vector<int> Messages::missing() const {
  std::set<int> waiting;
  for (std::size_t i = 0; i < requests_.size(); ++i)
    if (requests_[i] != MPI_REQUEST_NULL) waiting.insert(peers_[i].rank);
  return {waiting.begin(), waiting.end()};
}

void meet(const Team& team) { barrier(team.communicator, "collective 'meet'"); }

i64 best_chunk(i64 bytes, double further, double a_byte) {
  constexpr i64 granularity = 256;
  if (bytes <= least_chunk || a_byte <= 0) return std::max<i64>(1, bytes);
  const double best = std::sqrt(static_cast<double>(bytes) * further / a_byte);
  if (best >= static_cast<double>(bytes)) return bytes;
  return std::max(least_chunk, static_cast<i64>(best) / granularity * granularity);
}

HostValues scratch(const Team& team, const HostValues& like, i64 count) {
  constexpr std::size_t page = 4096;
  const i64 bytes = count * bytes_of(like.element);
  if (team.memory_bytes < bytes) {
    team.memory.reset(std::aligned_alloc(page, (static_cast<std::size_t>(bytes) + page - 1) / page * page), std::free);
    if (team.memory == nullptr) throw std::bad_alloc();
    team.memory_bytes = bytes;
  }
  return {team.memory.get(), count, like.element};
}

}  // namespace cortado
