#include "app/bench/disk_arrays.h"

#include <gtest/gtest.h>

namespace cortado::test::disk_arrays_test {
namespace {

TEST(DiskArrays, OneReaderGetsWhatTheSlowerOfItselfAndTheArrayGives) {
  DiskArrays system;
  system.array_bytes_per_s = 1e9;
  system.reader_bytes_per_s = 4e8;
  EXPECT_NEAR(simulate(system, 1, 4, 1).bytes_per_s, 4e8, 1);
  system.reader_bytes_per_s = 4e9;
  EXPECT_NEAR(simulate(system, 1, 4, 1).bytes_per_s, 1e9, 1);
}

TEST(DiskArrays, AllReadersShareASingleArray) {
  const DiskArrays system;
  const ArraysResult alone = simulate(system, 1, 4, 1), many = simulate(system, 64, 4, 1);
  EXPECT_NEAR(many.bytes_per_s, 1e9, 1e6);
  EXPECT_NEAR(many.batch_seconds, 64 * alone.batch_seconds, alone.batch_seconds);
  EXPECT_EQ(many.most_arrays, 1);
  EXPECT_EQ(many.most_readers, 64);
}

// swCaffe section V-B: a batch shorter than a stripe touches at most two arrays.
TEST(DiskArrays, AStripedBatchTouchesAtMostTwo) {
  DiskArrays system;
  system.arrays = 32;
  for (const int readers : {1, 7, 256}) {
    const ArraysResult result = simulate(system, readers, 4, 1);
    EXPECT_LE(result.most_arrays, 2);
    EXPECT_LE(result.bytes_per_s, 32e9);
    EXPECT_GE(result.bytes_per_s, simulate(DiskArrays(), readers, 4, 1).bytes_per_s * 0.999);
  }
  EXPECT_GT(simulate(system, 256, 4, 1).bytes_per_s, 16e9);
}

}  // namespace
}  // namespace cortado::test::disk_arrays_test
