#include "comm/codec/codec.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "app/bench/bench.h"
#include "app/measure/measure.h"
#include "app/report/progress_bar.h"
#include "core/base/random.h"

namespace cortado {
namespace {
constexpr i64 in_cache = i64{1} << 15;  // values: with code and state they fit a core's second-level cache

/// Values that are far more than any cache holds; without caches enough that launches cost little.
i64 in_memory(const MachineSpec& spec) { return i64{1} << (spec.lines_in_scratch ? 20 : 25); }

/// One codec's work on n values.
class CodecWork {
 public:
  CodecWork(CoreGroup& group, const Codec& codec, i64 n)
      : group_(group),
        codec_(codec),
        n_(n),
        x_(numbers<float>(group, n)),
        y_(numbers<float>(group, n)),
        state_(group, codec.needs_state() ? static_cast<std::size_t>(n) * 4 : 0),
        code_(group, static_cast<std::size_t>(codec.encoded_bytes(n))) {
    if (codec.needs_state()) group.zero(state_.get(), state_.bytes());
    encode();
    group.wait();
  }
  void encode() { codec_.encode(group_, x_.as<float>(), n_, state_.as<float>(), code_.get()); }
  void decode() { codec_.decode(group_, code_.get(), n_, y_.as<float>()); }
  void decode_add() { codec_.decode_add(group_, code_.get(), n_, y_.as<float>()); }
  void copy() { group_.copy(y_.get(), x_.get(), static_cast<std::size_t>(n_) * 4); }

  /// Billions of values a second, a run of few values being repeated.
  double rate(void (CodecWork::*what)()) {
    const i64 repeats = group_.spec().timing_only ? 1 : std::max<i64>(1, in_memory(group_.spec()) / 8 / n_);
    const double seconds = seconds_of(group_, [&] {
      for (i64 i = 0; i < repeats; ++i) (this->*what)();
    });
    return static_cast<double>(n_ * repeats) / seconds / 1e9;
  }

 private:
  CoreGroup& group_;
  const Codec& codec_;
  const i64 n_;
  ClusterMemory x_, y_, state_, code_;
};

nlohmann::json speeds(CoreGroup& group, const Codec& codec) {
  const i64 many = in_memory(group.spec());
  CodecWork near(group, codec, in_cache);
  nlohmann::json row = {{"codec", codec.name()},
                        {"ratio", 4.0 * static_cast<double>(many) / static_cast<double>(codec.encoded_bytes(many))},
                        {"encode", near.rate(&CodecWork::encode)},
                        {"decode", near.rate(&CodecWork::decode)},
                        {"decode_add", near.rate(&CodecWork::decode_add)}};
  CodecWork far(group, codec, many);
  const double copied = far.rate(&CodecWork::copy), encoded = far.rate(&CodecWork::encode),
               decoded = far.rate(&CodecWork::decode);
  // Bytes that pass between memory and cores; a copy reads and writes 4 a value.
  const double code = static_cast<double>(codec.encoded_bytes(many)) / static_cast<double>(many);
  const double state = codec.needs_state() ? 8 : 0;
  row["memory_encode"] = encoded;
  row["memory_decode"] = decoded;
  row["memory_decode_add"] = far.rate(&CodecWork::decode_add);
  row["encode_of_copy"] = encoded * (4 + code + state) / (copied * 8);
  row["decode_of_copy"] = decoded * (4 + code) / (copied * 8);
  return row;
}

/// A distribution of the 8-bit paper's table 2, with what it prints: absolute and relative error (percent) of dynamic
/// tree, linear, mantissa and static tree.
struct Distribution {
  const char* name;
  double deviation;  ///< 0: uniform in (0, 1)
  float offset;      ///< the scale of types with decimal exponents
  double printed[4][2];
};
const char* const types[] = {"dynamic_tree8", "linear8", "mantissa8", "static_tree8"};
constexpr Distribution distributions[] = {
    {"U(0,1)", 0, 10, {{0.00004, 1.39}, {0.0024, 2.16}, {0.0017, 7.22}, {0.0007, 4.82}}},
    {"N(0,1)", 1, 10, {{0.0005, 2.46}, {0.0004, 6.47}, {0.0104, 6.89}, {0.0093, 6.3}}},
    {"N(0,10^2)", 10, 100, {{0.049, 2.49}, {0.041, 6.44}, {1.066, 7.19}, {0.926, 6.28}}},
    {"N(0,0.2^2)", 0.2, 10, {{0.000018, 2.45}, {0.000015, 6.15}, {0.00055, 8.26}, {0.00018, 6.58}}}};

float sample(const Distribution& from, i64 i) {
  const auto counter = static_cast<std::uint64_t>(2 * i);
  const double u = random_uniform(1, counter);
  if (from.deviation == 0) return static_cast<float>(u);
  const double radius = std::sqrt(-2 * std::log(1 - u)), turn = 6.283185307179586 * random_uniform(1, counter + 1);
  return static_cast<float>(from.deviation * radius * std::cos(turn));
}

/// Mean errors of the types over `samples`.
class Approximation {
 public:
  Approximation(CoreGroup& group, const Distribution& from, i64 samples)
      : group_(group), from_(from), samples_(samples), x_(group, chunk * 4), y_(group, chunk * 4) {
    for (i64 i = 0; i < samples; ++i) most_ = std::max(most_, std::abs(sample(from_, i)));
  }
  struct Errors {
    double absolute = 0, relative = 0;
  };
  std::vector<Errors> run() {
    std::vector<Errors> errors(std::size(types));
    std::vector<float> x(chunk), y(chunk);
    for (i64 first = 0; first < samples_; first += chunk) {
      const i64 count = std::min<i64>(chunk, samples_ - first);
      for (i64 i = 0; i < count; ++i) x[static_cast<std::size_t>(i)] = sample(from_, first + i);
      group_.copy(x_.get(), x.data(), static_cast<std::size_t>(count) * 4);
      for (std::size_t t = 0; t < std::size(types); ++t) {
        const Codec& codec = find_codec(types[t]);
        const ClusterMemory code(group_, static_cast<std::size_t>(codec.encoded_bytes(count)));
        codec.encode(group_, x_.as<float>(), count, nullptr, code.get(), t < 2 ? most_ : from_.offset);
        codec.decode(group_, code.get(), count, y_.as<float>());
        group_.copy(y.data(), y_.get(), static_cast<std::size_t>(count) * 4);
        group_.wait();
        add(errors[t], x, y, count);
      }
    }
    for (Errors& e : errors)
      e = {e.absolute / static_cast<double>(samples_), 100 * e.relative / static_cast<double>(samples_)};
    return errors;
  }

 private:
  static constexpr std::size_t chunk = std::size_t{1} << 20;
  static void add(Errors& to, const std::vector<float>& x, const std::vector<float>& y, i64 count) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const double error = std::abs(double{y[i]} - double{x[i]});
      to.absolute += error;
      if (x[i] != 0) to.relative += error / std::abs(double{x[i]});
    }
  }

  CoreGroup& group_;
  const Distribution& from_;
  const i64 samples_;
  const ClusterMemory x_, y_;
  float most_ = 0;
};

class BenchCodec : public Bench {
  void add_own(Flags& flags) override {
    flags.add("--samples", samples_, "Of each distribution, for the errors; default 25 million, on a simulator 100000")
        .positive();
  }
  void measure(Session& session) override;

  i64 samples_ = 0;  // 0: the default
};

void BenchCodec::measure(Session& session) {
  CoreGroup& group = session.group;
  Report speed({{"codec", "codec"},
                {"ratio", "smaller by"},
                {"encode", "encode G/s"},
                {"decode", "decode G/s"},
                {"decode_add", "add G/s"},
                {"memory_encode", "from memory: encode"},
                {"encode_of_copy", "of memcpy"},
                {"memory_decode", "decode"},
                {"decode_of_copy", "of memcpy"},
                {"memory_decode_add", "add"}},
               group.spec(),
               {{"bench", "codec"}, {"values_in_cache", in_cache}, {"values_in_memory", in_memory(group.spec())}});
  ProgressBar bar("codecs");
  const i64 steps = static_cast<i64>(codecs().size() + std::size(distributions));
  i64 done = 0;
  for (const Codec* const codec : codecs()) {
    speed.add(speeds(group, *codec));
    bar.show(++done, steps, codec->name());
  }
  const i64 samples = samples_ > 0 ? samples_ : group.spec().lines_in_scratch ? 100'000 : 25'000'000;
  Report errors({{"distribution", "distribution"},
                 {"type", "type"},
                 {"absolute", "mean absolute", 6},
                 {"paper_absolute", "paper", 6},
                 {"relative", "mean relative %"},
                 {"paper_relative", "paper"}},
                group.spec(), {});
  nlohmann::json rows = nlohmann::json::array();
  for (const Distribution& from : distributions) {
    if (group.spec().timing_only) break;
    const auto found = Approximation(group, from, samples).run();
    for (std::size_t t = 0; t < found.size(); ++t) {
      rows.push_back({{"distribution", from.name},
                      {"type", types[t]},
                      {"absolute", found[t].absolute},
                      {"paper_absolute", from.printed[t][0]},
                      {"relative", found[t].relative},
                      {"paper_relative", from.printed[t][1]}});
      errors.add(rows.back());
    }
    bar.show(++done, steps, from.name);
  }
  speed.summarize({{"approximation", rows}, {"samples", samples}});
  show(session, speed,
       "\nBillions of values a second by all threads, in cache and from memory; shares are of the bytes a second that "
       "a copy moves.\n\nErrors on " +
           std::to_string(samples) + " samples (Dettmers 2016, table 2):\n" + errors.table() +
           "\nA type cannot err less on average than a quarter of its step: printed absolute errors below that are "
           "not of these definitions.\n");
}

}  // namespace

std::unique_ptr<Verb> make_bench_codec() { return std::make_unique<BenchCodec>(); }

}  // namespace cortado
