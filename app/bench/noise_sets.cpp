#include "app/bench/noise_sets.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/base/clock.h"
#include "core/base/random.h"
#include "parallel_io/convert/set_writer.h"

namespace cortado {
namespace {
constexpr std::size_t most_stripes = 32;
constexpr i64 stripe_bytes = i64{16} << 20;  // so that a small set has many

/// Images of 3 x 256 x 256 bytes without any meaning.
class NoiseSet : public DataSet {
 public:
  explicit NoiseSet(i64 samples) {
    samples_ = samples;
    fields_ = {{"data", {3, 256, 256}, Stored::uint8}, {"label", {}, Stored::float32}};
  }
  void read(const i64* indices, i64 count, std::vector<Values>& to) const override {
    to.resize(2);
    const i64 bytes = fields_[0].sample_bytes();
    to[0].bytes.resize(static_cast<std::size_t>(count * bytes));
    to[1].bytes.assign(static_cast<std::size_t>(count) * 4, 0);
    for (i64 i = 0; i < count; ++i)
      for (i64 e = 0; e < bytes; e += 8) {
        const std::uint64_t word = random_bits(static_cast<std::uint64_t>(indices[i]), static_cast<std::uint64_t>(e));
        std::memcpy(to[0].bytes.data() + i * bytes + e, &word, 8);
      }
  }
  std::string where(i64 sample) const override { return "noise " + std::to_string(sample); }
};
}  // namespace

NoiseFiles write_noise(i64 samples, const std::vector<std::string>& folders, bool striped) {
  NoiseFiles made;
  for (std::size_t s = 0; s < (striped ? most_stripes : 1); ++s)
    made.values.push_back(unnamed_file(folders[s % folders.size()]));
  if (striped) made.master = unnamed_file(folders[0]);
  made.path = path_of(striped ? made.master : made.values[0]);
  const NoiseSet noise(samples);
  WriteOptions write;
  write.format = striped ? Format::striped : Format::hdf5;
  write.stripe_bytes = stripe_bytes;
  write.unnamed = &made.values;
  const Replicas alone;
  const auto begin = Clock::now();
  const auto writer = make_writer(noise, made.path, write, alone);
  made.open_s = seconds_since(begin);
  write_set(noise, *writer, alone);
  made.write_s = seconds_since(begin) - made.open_s;
  return made;
}

i64 noise_written_in(double seconds, const std::string& folder) {
  constexpr i64 some = 64;
  const auto begin = Clock::now();
  write_noise(some, {folder}, false);
  return static_cast<i64>(seconds / std::max(1e-6, seconds_since(begin)) * some);
}

}  // namespace cortado
