#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "parallel_io/feed/sinks.h"
#include "parallel_io/sets/hdf5_set.h"
#include "parallel_io/weights/hdf5_weights.h"
#include "tests/fuzz/small_net.h"
#include "tests/fuzz/target.h"

namespace cortado::fuzz {
namespace {

/// As weights, as a state and as data.
void run(const std::uint8_t* data, std::size_t size) {
  static const std::string file = folder() + "/x.h5";  // the library wants a name in the file system
  write_file(file, data, size);
  expect_errors_only([&] {
    caffe::NetParameter weights;
    Hdf5Weights().read_weights(file, weights);
    small_net().copy_trained(weights);
  });
  expect_errors_only([&] {
    caffe::SolverState state;
    Hdf5Weights().read_state(file, state);
  });
  expect_errors_only([&] {
    OpenOptions options;
    options.cache_bytes = 1 << 20;
    const Hdf5Set set(file, options);
    if (set.samples() > 1000 || count_of(set.fields()[0].sample_shape) > 100000) return;
    std::vector<Values> values;
    for (i64 i = 0; i < set.samples(); ++i) set.read(&i, 1, values);
  });
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  const std::string file = folder() + "/seed.h5";
  caffe::NetParameter weights;
  small_net().to_proto(weights);
  Hdf5Weights().write_weights(file, weights);
  all.push_back(content_of(file));
  caffe::SolverState state;
  parse_text("iter: 7 learned_net: 'x' current_step: 2 history { shape { dim: 2 } data: [1, 2] } cortado { ranks: 3 }",
             "seed", state);
  Hdf5Weights().write_state(file, state);
  all.push_back(content_of(file));
  const float values[] = {1, 2, 3, 4, 5, 6};
  Sinks().open(file, {{"data", {3}}, {"label", {}}}, 0)->append(2, {values, values});
  all.push_back(content_of(file));
  return all;
}
}  // namespace

Target hdf5() { return {"hdf5", run, seeds}; }

}  // namespace cortado::fuzz
