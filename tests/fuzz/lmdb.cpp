#include "core/base/file.h"
#include "core/net/replicas.h"
#include "parallel_io/convert/set_writer.h"
#include "parallel_io/sets/lmdb_set.h"
#include "tests/fuzz/target.h"

namespace cortado::fuzz {
namespace {

void run(const std::uint8_t* data, std::size_t size) {
  const InputFile file(data, size);
  for (const bool any_shape : {false, true})
    expect_errors_only([&] {
      OpenOptions options;
      options.any_shape = any_shape;
      const LmdbSet set(file.name(), options);
      std::vector<Values> values;
      for (i64 i = 0; i < set.samples(); ++i) expect_errors_only([&] { set.read(&i, 1, values); });
    });
}

/// Samples of bytes that tell them apart.
class MadeSet : public DataSet {
 public:
  MadeSet(i64 samples, const Shape& shape) {
    samples_ = samples;
    fields_ = {{"data", shape, Stored::uint8}, {"label", {}, Stored::float32}};
  }
  void read(const i64* indices, i64 count, std::vector<Values>& to) const override {
    to.assign(2, {});
    for (i64 i = 0; i < count; ++i) {
      to[0].bytes.insert(to[0].bytes.end(), static_cast<std::size_t>(fields_[0].sample_bytes()),
                         static_cast<std::uint8_t>(indices[i]));
      to[1].bytes.insert(to[1].bytes.end(), sizeof(float), 0);
    }
  }
  std::string where(i64 sample) const override { return "sample " + std::to_string(sample); }
};

/// A database with samples of that shape; its file.
std::string database(i64 samples, const Shape& shape, const std::string& name) {
  const MadeSet set(samples, shape);
  WriteOptions options;
  options.format = Format::lmdb;
  const Replicas alone;
  const std::string to = folder() + "/" + name;
  if (!exists(to)) write_set(set, *make_writer(set, to, options, alone), alone, {});
  return content_of(to + "/data.mdb");
}

/// A leaf alone, leaves below a branch, and values on pages of their own.
std::vector<std::string> seeds() {
  return {database(3, {1, 2, 3}, "one"), database(90, {1, 7, 11}, "many"), database(2, {3, 40, 50}, "large")};
}
}  // namespace

Target lmdb() { return {"lmdb", run, seeds}; }

}  // namespace cortado::fuzz
