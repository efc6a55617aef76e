#include "comm/codec/codec.h"

#include <limits>
#include <tuple>
#include <type_traits>

#include "comm/codec/programs.h"
#include "core/base/error.h"

namespace cortado {
namespace {

template <class Format>
class CodecOf : public Codec {
 public:
  std::string name() const override { return Format::name; }
  i64 block() const override { return codec::Encode<Format>::block; }
  i64 encoded_bytes(i64 n) const override { return 4 * (scale_words(n) + blocks(n) * Format::words); }
  bool needs_state() const override { return Format::state; }
  float limit() const override {
    return std::is_same<Format, codec::ThreeInOne>::value ? 2 : std::numeric_limits<float>::infinity();
  }

  void encode(CoreGroup& group, const float* values, i64 n, float* state, void* code, float scale) const override {
    if (n == 0) return;
    require(!Format::state || state != nullptr, "codecs with state get some");
    const auto scales = static_cast<std::uint32_t*>(code);
    const RowLines blocks{1, n, block()};
    PlanBuilder book(group.spec());
    const codec::Encode<Format> program{
        reads(book, "values", values, blocks),
        Format::state ? writes(book, "state", state, blocks, Depth::two) : Lines<float>{},
        writes(book, "code", scales + scale_words(n), codec::Blocks<Format::words>{}, Depth::two),
        Format::scaled ? writes(book, "scales", scales, Runs{}, Depth::two) : View<Runs, std::uint32_t>{}, scale};
    group.launch(program, book.plan(blocks.lines()));
  }
  void decode(CoreGroup& group, const void* code, i64 n, float* values) const override {
    run(group, code, n, values, false);
  }
  void decode_add(CoreGroup& group, const void* code, i64 n, float* values) const override {
    run(group, code, n, values, true);
  }

 private:
  using Runs = codec::Blocks<Format::runs>;

  static i64 blocks(i64 n) { return (n + codec::Encode<Format>::block - 1) / codec::Encode<Format>::block; }
  /// So many that words begin at a multiple of 128 bytes.
  static i64 scale_words(i64 n) { return Format::scaled ? (blocks(n) * Format::runs + 31) / 32 * 32 : 0; }

  void run(CoreGroup& group, const void* code, i64 n, float* values, bool add) const {
    if (n == 0) return;
    const auto scales = static_cast<const std::uint32_t*>(code);
    const RowLines blocks{1, n, block()};
    PlanBuilder book(group.spec());
    const codec::Decode<Format> program{
        reads(book, "code", scales + scale_words(n), codec::Blocks<Format::words>{}),
        Format::scaled ? reads(book, "scales", scales, Runs{}) : View<Runs, const std::uint32_t>{}, add,
        add ? reads(book, "old", values, codec::FieldRows<Format>{}) : View<codec::FieldRows<Format>, const float>{},
        writes(book, "values", values, blocks, Depth::two)};
    group.launch(program, book.plan(blocks.lines()));
  }
};

template <class... Formats>
std::vector<const Codec*> all_of() {
  static const std::tuple<CodecOf<Formats>...> all;
  return {&std::get<CodecOf<Formats>>(all)...};
}

}  // namespace

const std::vector<const Codec*>& codecs() {
  using namespace codec;
  static const auto all = all_of<Fp32, Bf16, Fp16, DynamicTree, Linear, Mantissa, StaticTree, E4M3, E5M2, OneBit,
                                 TernaryThreshold, ThreeInOne>();
  return all;
}

const Codec& find_codec(const std::string& name) {
  std::string names;
  for (const Codec* const codec : codecs()) {
    if (codec->name() == name) return *codec;
    names += (names.empty() ? "" : ", ") + codec->name();
  }
  throw ConfigError("codec '" + name + "'", "is not known", "there are: " + names);
}

}  // namespace cortado
