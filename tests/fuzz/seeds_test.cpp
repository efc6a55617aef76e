// Every target with its seeds, with what fuzzers have found so far, and with damaged seeds.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/log.h"
#include "core/base/random.h"
#include "tests/fuzz/target.h"

namespace cortado::fuzz::seeds_test {
namespace {
constexpr std::chrono::seconds longest{10};  // for one input; longer is a finding

void expect_answer(const Target& target, const std::string& input, const std::string& name) {
  SCOPED_TRACE(target.name + ", " + name);
  const QuietLog quiet(true);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_NO_THROW(target.run(reinterpret_cast<const std::uint8_t*>(input.data()), input.size()));
  EXPECT_LT(std::chrono::steady_clock::now() - start, longest);
}

TEST(Fuzz, SeedsAreRead) {
  for (const auto& target : targets()) {
    EXPECT_FALSE(target.seeds().empty()) << target.name;
    for (const auto& seed : target.seeds()) expect_answer(target, seed, "a seed");
  }
}

TEST(Fuzz, CutAndDamagedSeedsAreAnswered) {
  std::uint64_t draws = 0;
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random_bits(11, draws++) % n); };
  for (const auto& target : targets())
    for (const auto& seed : target.seeds()) {
      for (std::size_t i = 0; i < 20; ++i) expect_answer(target, seed.substr(0, i * seed.size() / 20), "cut");
      for (int i = 0; i < 50; ++i) {
        std::string damaged = seed;
        for (int k = 0; k < 4; ++k) damaged[below(seed.size())] = static_cast<char>(below(256));
        expect_answer(target, damaged, "damaged, number " + std::to_string(i));
      }
    }
}

TEST(Fuzz, FindingsStayFixed) {
  const std::filesystem::path top = "tests/fuzz/findings";
  for (const auto& target : targets()) {
    if (!std::filesystem::is_directory(top / target.name)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(top / target.name)) {
      std::ifstream file(entry.path(), std::ios::binary);
      expect_answer(target, {std::istreambuf_iterator<char>(file), {}}, entry.path().filename().string());
    }
  }
}

}  // namespace
}  // namespace cortado::fuzz::seeds_test
