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
    codec::Encode<Format> program{values, state, scales + scale_words(n), scales, scale, n, {}, {}, {}, {}};
    PlanBuilder book(group.spec());
    program.value_buf = book.line<float>("values", block(), Depth::two);
    if (Format::state) program.state_buf = book.line<float>("state", block(), 2);
    program.code_buf = book.line<std::uint32_t>("code", Format::words, 2);
    if (Format::scaled) program.scale_buf = book.line<float>("scales", Format::runs, 2);
    group.launch(program, book.plan(blocks(n)));
  }
  void decode(CoreGroup& group, const void* code, i64 n, float* values) const override {
    run(group, code, n, values, false);
  }
  void decode_add(CoreGroup& group, const void* code, i64 n, float* values) const override {
    run(group, code, n, values, true);
  }

 private:
  static i64 blocks(i64 n) { return (n + codec::Encode<Format>::block - 1) / codec::Encode<Format>::block; }
  /// So many that words begin at a multiple of 128 bytes.
  static i64 scale_words(i64 n) { return Format::scaled ? (blocks(n) * Format::runs + 31) / 32 * 32 : 0; }

  void run(CoreGroup& group, const void* code, i64 n, float* values, bool add) const {
    if (n == 0) return;
    const auto scales = static_cast<const std::uint32_t*>(code);
    codec::Decode<Format> program{scales + scale_words(n), scales, values, add, n, {}, {}, {}, {}};
    PlanBuilder book(group.spec());
    program.code_buf = book.line<std::uint32_t>("code", Format::words, Depth::two);
    if (Format::scaled) program.scale_buf = book.line<float>("scales", Format::runs, Depth::two);
    if (add) program.old_buf = book.line<float>("old", block(), 2);
    program.y_buf = book.line<float>("values", block(), 2);
    group.launch(program, book.plan(blocks(n)));
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
  static const auto all =
      all_of<Fp32, Bf16, Fp16, DynamicTree, Linear, Mantissa, StaticTree, OneBit, TernaryThreshold, ThreeInOne>();
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
