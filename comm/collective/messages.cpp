#include "comm/collective/messages.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <set>

#include "core/base/error.h"

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
void Messages::post(int peer, bool incoming, const Span& values, Post post_piece) {
  for (i64 first = 0; first < values.bytes(); first += longest) {
    const int bytes = static_cast<int>(std::min(longest, values.bytes() - first));
    requests_.emplace_back();
    peers_.push_back({peer, incoming});
    post_piece(static_cast<char*>(values.data) + first, bytes, &requests_.back());
  }
}

void Messages::send(int to, const Span& values) {
  post(to, false, values, [&](const char* from, int bytes, MPI_Request* request) {
    MPI_Isend(from, bytes, MPI_BYTE, to, tag, team_.communicator, request);
  });
}

void Messages::receive(int from, const Span& values) {
  post(from, true, values, [&](char* to, int bytes, MPI_Request* request) {
    MPI_Irecv(to, bytes, MPI_BYTE, from, tag, team_.communicator, request);
  });
}

void Messages::wait(int step) {
  const int count = static_cast<int>(requests_.size());
  if (team_.patience <= 0) {
    MPI_Waitall(count, requests_.data(), MPI_STATUSES_IGNORE);
  } else {
    using Clock = std::chrono::steady_clock;
    auto moved = Clock::now();
    for (int done = 0, before = 0; done < count; before = done) {
      done = 0;
      for (MPI_Request& request : requests_) {
        int through = 0;
        MPI_Test(&request, &through, MPI_STATUS_IGNORE);
        done += through;
      }
      if (done != before) moved = Clock::now();
      if (done < count) sched_yield();  // where ranks share cores, the one that is waited for needs them
      if (std::chrono::duration<double>(Clock::now() - moved).count() > team_.patience) give_up(step);
    }
  }
  requests_.clear();
  peers_.clear();
}

void Messages::give_up(int step) const {
  std::set<int> waiting;
  for (std::size_t i = 0; i < requests_.size(); ++i)
    if (requests_[i] != MPI_REQUEST_NULL) waiting.insert(peers_[i].rank);
  std::string ranks;
  for (const int rank : waiting) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  throw Error("collective '" + name_ + "'",
              "rank " + std::to_string(team_.rank()) + " waits in step " + std::to_string(step) + " for rank " + ranks +
                  ", and nothing has moved for " + std::to_string(static_cast<int>(team_.patience)) + " s",
              "see whether these ranks still run");
}

void meet(const Team& team) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(team.communicator, &request);
  for (int met = 0; met == 0; MPI_Test(&request, &met, MPI_STATUS_IGNORE)) sched_yield();
}

Span scratch(const Team& team, const Span& like, i64 count) {
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
