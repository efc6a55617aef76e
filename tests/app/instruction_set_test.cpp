#include "app/session/instruction_set.h"

#include <gtest/gtest.h>

#include "tests/support/message_of.h"

namespace cortado::instruction_set_test {
namespace {

const std::vector<Isa> portable = {Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx};

std::string refusal(const std::vector<Isa>& built, std::optional<Isa> processor, const char* forced) {
  return test::message_of([&] { choose_isa(built, processor, forced); });
}

TEST(InstructionSet, IsTheMostThatProcessorAndBuildHave) {
  for (const Isa isa : portable) EXPECT_EQ(choose_isa(portable, isa, nullptr), isa) << name_of(isa);
  EXPECT_EQ(choose_isa({Isa::avx2}, Isa::amx, nullptr), Isa::avx2);
  EXPECT_EQ(choose_isa({Isa::avx2, Isa::avx512}, Isa::amx, nullptr), Isa::avx512);
  EXPECT_EQ(choose_isa({Isa::avx2, Isa::avx512_bf16, Isa::amx}, Isa::avx512, nullptr), Isa::avx2);
  EXPECT_EQ(choose_isa({Isa::avx512}, Isa::amx, nullptr), Isa::avx512);
}

TEST(InstructionSet, IsWhatIsForcedIfItCanBe) {
  for (const Isa isa : portable) EXPECT_EQ(choose_isa(portable, Isa::amx, name_of(isa)), isa) << name_of(isa);
  EXPECT_EQ(choose_isa(portable, Isa::avx512, "avx2"), Isa::avx2);
}

TEST(InstructionSet, RefusesWhatCannotRun) {
  EXPECT_EQ(refusal(portable, std::nullopt, nullptr).rfind("this processor: has not avx2, which this build is for", 0),
            0U);
  EXPECT_NE(refusal({Isa::avx512}, Isa::avx2, nullptr).find("has not avx512"), std::string::npos);
  EXPECT_NE(refusal(portable, Isa::avx2, "avx512").find("CORTADO_ISA: is avx512, this processor has avx2 at most"),
            std::string::npos);
  EXPECT_NE(refusal({Isa::avx512}, Isa::amx, "avx2").find("no programs: it has avx512"), std::string::npos);
  for (const char* odd : {"", "AVX2", "avx2 ", "sse"})
    EXPECT_NE(refusal(portable, Isa::amx, odd).find("choose one of avx2, avx512, avx512_bf16, amx"), std::string::npos)
        << odd;
}

TEST(InstructionSet, HasNames) {
  for (const Isa isa : portable) EXPECT_EQ(isa_named(name_of(isa)), isa);
  EXPECT_EQ(isa_named("avx"), std::nullopt);
}

TEST(InstructionSet, OfTheBuildRisesFromTheLinkedOne) {
  const auto& built = isas_of_build();
  for (std::size_t i = 1; i < built.size(); ++i) EXPECT_LT(built[i - 1], built[i]);
  if (built.empty()) return;
  EXPECT_EQ(module_of(built.front()), "");
}

}  // namespace
}  // namespace cortado::instruction_set_test
