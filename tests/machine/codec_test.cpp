// The sixth program of the machine's gate: a codec with error feedback.
#include <algorithm>

#include "tests/machine/gate_processor.h"
#include "tests/machine/programs.h"
#include "tests/support/layer_rig.h"

namespace cortado::test::codec_test {
namespace {

/// One sender's residual and the receiver's sum, by plain loops.
struct CodecOracle {
  std::vector<float> residual, sum;

  void round(const std::vector<float>& values, i64 block) {
    for (std::size_t first = 0; first < values.size(); first += static_cast<std::size_t>(block)) {
      const std::size_t end = std::min(values.size(), first + static_cast<std::size_t>(block));
      double upper = 0, lower = 0;
      i64 positive = 0, negative = 0;
      for (std::size_t i = first; i < end; ++i) {
        residual[i] += values[i];
        (residual[i] >= 0 ? upper : lower) += residual[i];
        ++(residual[i] >= 0 ? positive : negative);
      }
      const float above = positive > 0 ? static_cast<float>(upper / static_cast<double>(positive)) : 0.0f;
      const float below = negative > 0 ? static_cast<float>(lower / static_cast<double>(negative)) : 0.0f;
      for (std::size_t i = first; i < end; ++i) {
        const float decoded = residual[i] >= 0 ? above : below;
        residual[i] -= decoded;
        sum[i] += decoded;
      }
    }
  }
};

class CodecTest : public ::testing::TestWithParam<std::string> {};

TEST_P(CodecTest, OneBitWithErrorFeedbackMatchesPlainLoopsOverRounds) {
  const auto processor = gate_processor(GetParam());
  CoreGroup& group = processor->group(0);
  for (const i64 n : {1, 31, 64, 300, 1000})
    for (const i64 block : {32, 64, 256}) {
      SCOPED_TRACE(std::to_string(n) + " values in blocks of " + std::to_string(block));
      const i64 blocks = (n + block - 1) / block;
      const auto bytes = static_cast<std::size_t>(4 * n);
      const ClusterMemory values(group, bytes), residual(group, bytes), sum(group, bytes);
      const ClusterMemory code(group, static_cast<std::size_t>(blocks * block / 8)),
          scale(group, static_cast<std::size_t>(8 * blocks));
      group.zero(residual.get(), bytes);
      group.zero(sum.get(), bytes);
      PlanBuilder sender(group.spec()), receiver(group.spec());
      OneBitEncode encode{};
      encode.values = values.as<float>(), encode.residual = residual.as<float>();
      encode.code = code.as<std::uint32_t>(), encode.scale = scale.as<float>();
      encode.n = n, encode.block = block, encode.depth = Depth::two;
      encode.value_buf = sender.line<float>("values", block, Depth::two);
      encode.residual_buf = sender.line<float>("residual", block, 1);
      encode.code_buf = sender.line<std::uint32_t>("code", block / 32, 1);
      encode.scale_buf = sender.line<float>("scale", 2, 1);
      OneBitDecode decode{};
      decode.code = code.as<std::uint32_t>(), decode.scale = scale.as<float>(), decode.sum = sum.as<float>();
      decode.n = n, decode.block = block, decode.depth = Depth::two;
      decode.code_buf = receiver.line<std::uint32_t>("code", block / 32, Depth::two);
      decode.scale_buf = receiver.line<float>("scale", 2, Depth::two);
      decode.sum_buf = receiver.line<float>("sum", block, 1);

      CodecOracle oracle{std::vector<float>(static_cast<std::size_t>(n)),
                         std::vector<float>(static_cast<std::size_t>(n))};
      for (std::uint64_t round = 0; round < 4; ++round) {
        // The last round sends zeros, so that only the feedback is left.
        const auto sent = round < 3 ? noise_vector(round, n) : std::vector<float>(static_cast<std::size_t>(n));
        group.copy(values.get(), sent.data(), bytes);
        group.launch(encode, sender.plan(blocks));
        group.launch(decode, receiver.plan(blocks));
        oracle.round(sent, block);
        std::vector<float> left(sent.size()), received(sent.size());
        group.copy(left.data(), residual.get(), bytes);
        group.copy(received.data(), sum.get(), bytes);
        group.wait();
        expect_near(left, oracle.residual, 1e-5f, 1e-5f);
        expect_near(received, oracle.sum, 1e-5f, 1e-5f);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Backends, CodecTest, all_backends(), backend_name);

}  // namespace
}  // namespace cortado::test::codec_test
