// Teams whose lanes are threads, compiled with ThreadSanitizer.
//   team_threads             all cases; 1 if a lane sees anything but what loops make, 66 if two lanes race
//   team_threads N           a team of eight lanes that goes without barrier N: 66 if two lanes race, 3 if there is no
//                            such barrier
#include <pthread.h>

#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

#include "tests/backends/kokkos/team/cases.h"

namespace cortado::test {
namespace {

/// Barriers are used once: who leaves one late would otherwise count as ordered after those who have come to it again.
void by_threads(int lanes, char* scratch, i64 dropped, const std::function<void(TeamMember&)>& body) {
  std::vector<pthread_barrier_t> barriers(1000);
  for (auto& barrier : barriers) pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(lanes));
  const auto meet = [&](i64 number) { pthread_barrier_wait(&barriers.at(static_cast<std::size_t>(number))); };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < lanes; ++rank)
    threads.emplace_back([&, rank] {
      TeamMember member{rank, lanes, scratch, meet, dropped};
      body(member);
    });
  for (std::thread& thread : threads) thread.join();
  for (auto& barrier : barriers) pthread_barrier_destroy(&barrier);
}

int run_all() {
  int wrong = 0;
  for_team_sizes([&](auto lanes) {
    for (const i64 n : {i64{1}, i64{lanes}, 2 * i64{lanes} + 1}) {
      const int of_these = wrong_lanes<lanes>(by_threads, n);
      if (of_these > 0) std::cerr << of_these << " of " << lanes << " lanes are wrong with " << n << " elements\n";
      wrong += of_these;
    }
  });
  return wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace cortado::test

int main(int count, char** arguments) {
  using namespace cortado::test;
  if (count < 2) return run_all();
  cortado::i64 barriers = 0;
  const cortado::i64 dropped = std::atoll(arguments[1]);
  wrong_lanes<8>(by_threads, 32, dropped, &barriers);
  return dropped < barriers ? 0 : 3;
}
