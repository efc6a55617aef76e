#include "core/tuner/tuning_key.h"

#include <gtest/gtest.h>

namespace cortado::test::tuning_key_test {
namespace {

MachineSpec zen4() {
  MachineSpec spec;
  spec.name = "openmp";
  spec.description = "AMD EPYC (family 25, model 17), 512-bit vectors, 1 x 2 OpenMP threads on CPUs 0-1";
  spec.simd_bytes = 64;
  spec.bf16_speed = 2;
  spec.cpes = 2;
  spec.scratch_bytes = 512 * 1024;
  spec.cache_bytes = 32 * 1024 * 1024;
  return spec;
}

HostTopology::Share half_a_package() {
  HostTopology::Share share;
  share.processor = "AMD EPYC (family 25, model 17)";
  share.cores = share.cache_cores = 8;
  return share;
}

const TuningKey own(zen4(), half_a_package(), "b");

TEST(TuningKey, CpuNumbersAreNoPartOfIt) {
  MachineSpec other = zen4();
  other.description = "AMD EPYC (family 25, model 17), 512-bit vectors, 1 x 2 OpenMP threads on CPUs 6|7";
  const TuningKey key(other, half_a_package(), "b");
  EXPECT_FALSE(own < key || key < own);
  EXPECT_EQ(own.distance(key), TuningKey::Distance{});
  EXPECT_EQ(own.cache_cores, 2) << "two threads need two of the cores";
}

/// Each change alone, from the nearest to the farthest.
TEST(TuningKey, NearnessHasAnOrder) {
  std::vector<TuningKey> keys(7, own);
  keys[0].build = "c";
  keys[1].processor = "P";
  keys[2].cache_kib /= 32;
  keys[3].scratch_kib *= 8;
  keys[4].cache_cores = 1;
  keys[5].threads = 3;
  keys[6].vector_bits = 256;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_GT(own.distance(keys[i]), TuningKey::Distance{});
    EXPECT_EQ(own.distance(keys[i]), keys[i].distance(own));
    EXPECT_FALSE(own.differences(keys[i]).empty());
    if (i > 0) { EXPECT_LT(own.distance(keys[i - 1]), own.distance(keys[i])) << i; }
  }
  TuningKey farther = own;
  farther.threads = 16;
  EXPECT_LT(own.distance(keys[5]), own.distance(farther));
}

TEST(TuningKey, WhatIsNotKnownComesBehindWhatIsEqual) {
  TuningKey less = own, build = own;
  less.cache_kib = 0;
  build.build = "c";
  EXPECT_LT(own.distance(own), own.distance(less));
  EXPECT_LT(own.distance(less), own.distance(build));
  EXPECT_EQ(own.differences(less), "");
}

TEST(TuningKey, MachinesOfVersion1) {
  const TuningKey old("openmp", zen4().description, "b");
  EXPECT_EQ(old.vector_bits, 512);
  EXPECT_EQ(old.core_groups, 1);
  EXPECT_EQ(old.threads, 2);
  EXPECT_EQ(own.differences(old), "");
  const TuningKey amx("openmp", "Intel, Xeon, 512-bit vectors, AMX, 2 x 8 OpenMP threads on CPUs 0|1", "b");
  EXPECT_EQ(amx.processor, "Intel, Xeon");
  EXPECT_EQ(amx.bf16_speed, 16);
  EXPECT_EQ(amx.core_groups, 2);
  EXPECT_EQ(amx.threads, 8);
  MachineSpec gpu;
  gpu.description = "NVIDIA H100 (device 1), compute capability 9.0";
  gpu.host_memory = false;
  EXPECT_EQ(TuningKey("cuda", gpu.description, "b").processor, "NVIDIA H100, compute capability 9.0");
  EXPECT_EQ(TuningKey(gpu, half_a_package(), "b").processor, "NVIDIA H100, compute capability 9.0");
  EXPECT_EQ(TuningKey(gpu, half_a_package(), "b").cache_cores, 0);
  for (const char* odd : {"", "-bit vectors, ", ", x-bit vectors, y", "P, 512-bit vectors, AMX, 1 x"})
    EXPECT_EQ(TuningKey("openmp", odd, "b").processor, odd);
}

}  // namespace
}  // namespace cortado::test::tuning_key_test
