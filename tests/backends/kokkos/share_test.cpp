// Items that workers share out: each is taken once, by whoever comes to it.
#include "backends/kokkos/share.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace cortado::kokkos::share_test {
namespace {

std::vector<i64> all_of(Share share) {
  std::vector<i64> items;
  for (i64 i = 0; share.next(i);) items.push_back(i);
  return items;
}

TEST(Share, AloneItIsOnesOwn) {
  EXPECT_EQ(all_of(Share(nullptr, 1, 3, 7)), (std::vector<i64>{2, 3}));
  EXPECT_EQ(all_of(Share(nullptr, 0, 3, 2)), (std::vector<i64>{}));
}

TEST(Share, WhoIsDoneTakesFromTheEndsOfOthers) {
  std::vector<Taken> taken(3);
  Share slow(taken.data(), 0, 3, 9);
  i64 item = -1;
  ASSERT_TRUE(slow.next(item));
  EXPECT_EQ(item, 0);
  EXPECT_EQ(all_of(Share(taken.data(), 1, 3, 9)), (std::vector<i64>{3, 4, 5, 8, 7, 6, 2, 1}));
  EXPECT_FALSE(slow.next(item));
  EXPECT_EQ(all_of(Share(taken.data(), 2, 3, 9)), (std::vector<i64>{}));
}

TEST(Share, EveryItemIsTakenOnce) {
  for (const i64 workers : {2, 3, 8})
    for (const i64 n : {0, 1, 2, 7, 64, 10000}) {
      std::vector<Taken> taken(static_cast<std::size_t>(workers));
      const auto times = std::make_unique<std::atomic<int>[]>(static_cast<std::size_t>(n) + 1);
      std::vector<std::thread> threads;
      for (i64 w = 0; w < workers; ++w)
        threads.emplace_back([&, w] {
          Share share(taken.data(), w, workers, n);
          for (i64 i = 0; share.next(i);) times[static_cast<std::size_t>(i)] += 1;
        });
      for (auto& thread : threads) thread.join();
      for (i64 i = 0; i < n; ++i)
        EXPECT_EQ(times[static_cast<std::size_t>(i)], 1)
            << "item " << i << " of " << n << ", " << workers << " workers";
    }
}

}  // namespace
}  // namespace cortado::kokkos::share_test
