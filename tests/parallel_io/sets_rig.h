#pragma once
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "parallel_io/convert/convert.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test {

/// Samples in memory: sample i's values are a function of i alone.
class MadeSet : public DataSet {
 public:
  MadeSet(i64 samples, const Shape& shape, Stored stored) {
    samples_ = samples;
    fields_ = {{"data", shape, stored}, {"label", {}, Stored::float32}};
  }
  static std::uint8_t value(i64 sample, i64 element) {
    return static_cast<std::uint8_t>(
        random_bits(static_cast<std::uint64_t>(sample), static_cast<std::uint64_t>(element)));
  }
  static float label(i64 sample) { return static_cast<float>(sample % 10); }
  void read(const i64* indices, i64 count, std::vector<Values>& to) const override {
    to.resize(2);
    const i64 size = count_of(fields_[0].sample_shape);
    to[0].bytes.resize(static_cast<std::size_t>(count * fields_[0].sample_bytes()));
    to[1].bytes.resize(static_cast<std::size_t>(count) * 4);
    for (i64 i = 0; i < count; ++i) {
      for (i64 e = 0; e < size; ++e)
        if (fields_[0].stored == Stored::uint8) {
          to[0].bytes[static_cast<std::size_t>(i * size + e)] = value(indices[i], e);
        } else {
          const float v = value(indices[i], e) / 8.0f - 3;
          std::memcpy(to[0].bytes.data() + (i * size + e) * 4, &v, 4);
        }
      const float l = label(indices[i]);
      std::memcpy(to[1].bytes.data() + i * 4, &l, 4);
    }
  }
  std::string where(i64 sample) const override { return "made " + std::to_string(sample); }
};

inline std::vector<Values> read_all(const DataSet& set) {
  std::vector<i64> indices(static_cast<std::size_t>(set.samples()));
  std::iota(indices.begin(), indices.end(), i64{0});
  std::vector<Values> values;
  set.read(indices.data(), set.samples(), values);
  return values;
}

/// Same fields, same bytes.
inline void expect_equal(const DataSet& a, const DataSet& b, const std::string& what) {
  ASSERT_EQ(a.samples(), b.samples()) << what;
  ASSERT_EQ(a.fields()[0].sample_shape, b.fields()[0].sample_shape) << what;
  const auto x = read_all(a), y = read_all(b);
  for (std::size_t f = 0; f < 2; ++f) EXPECT_EQ(x[f].bytes, y[f].bytes) << what << ", field " << f;
}

inline void write(const DataSet& set, const std::string& to, const WriteOptions& options = {}) {
  const Replicas alone;
  const auto writer = make_writer(set, to, options, alone);
  write_set(set, *writer, alone);
}

inline WriteOptions as(Format format, i64 stripes = 4, i64 stripe_bytes = 1000) {
  WriteOptions options;
  options.format = format;
  options.stripes = stripes;
  options.stripe_bytes = stripe_bytes;
  return options;
}

inline std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) { return error.what(); }
  return "no error";
}
inline void expect_says(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message << "\nshould say: " << part;
}

}  // namespace cortado::test
