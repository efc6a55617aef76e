#include <hdf5.h>

#include "core/formats/caffe.pb.h"
#include "parallel_io/sets/hdf5_set.h"
#include "parallel_io/weights/hdf5_weights.h"
#include "tests/fuzz/hdf5_recipe.h"
#include "tests/fuzz/small_net.h"
#include "tests/fuzz/target.h"

namespace cortado::fuzz {
namespace {

/// What links lead to.
const std::string& beside() {
  static const std::string name = [] {
    const std::string recipe = recipe_of("set data float contiguous 3\nset 0 float chunked 3");
    const std::string file = folder() + "/beside.h5";
    cook_hdf5(file, file, reinterpret_cast<const std::uint8_t*>(recipe.data()), recipe.size());
    return file;
  }();
  return name;
}

/// As weights, as a state and as data.
void run(const std::uint8_t* data, std::size_t size) {
  static const std::string file = folder() + "/x.h5";
  H5garbage_collect();  // the library keeps what it freed, and the fuzzer counts it
  cook_hdf5(file, beside(), data, size);
  expect_errors_only([&] {
    caffe::NetParameter weights;
    Hdf5Weights().read_weights(file, weights);
    small_net().copy_trained(weights);
  });
  expect_errors_only([&] {
    caffe::SolverState state;
    Hdf5Weights().read_state(file, state);
  });
  for (const bool any_shape : {false, true})
    expect_errors_only([&] {
      OpenOptions options;
      options.cache_bytes = 1 << 20;
      options.any_shape = any_shape;
      const Hdf5Set set(file, options);
      std::vector<Values> values;
      for (i64 i = 0; i < std::min<i64>(set.samples(), 100); ++i)
        if (count_of(set.fields()[0].sample_shape) < 100000) set.read(&i, 1, values);
    });
}

std::vector<std::string> seeds() {
  return {
      recipe_of(
          "group data\ngroup a\nset 0 float contiguous 3\nup\ngroup b\nset 0 double chunked 1 3\nup\ngroup c\nup\n"
          "group d\nset 0 float packed 3\nup\nup\ngroup diff\ngroup a\nset 0 float compact 3\n"),
      recipe_of("set iter int contiguous\nset current_step int contiguous 1\nset learned_net text contiguous\n"
                "group history\nset 0 float contiguous 3\nset 1 float chunked 3\nup\nset cortado texts contiguous\n"
                "group cortado_statistics\nset 0 float contiguous 2\n"),
      recipe_of("set data uint8 contiguous 4 2 3\nset label float contiguous 4\nset data_crc int contiguous 4\n"),
      recipe_of("set data float packed 4 3\nset label int64 chunked 4\n"),
      recipe_of("group data\ngroup a\nexternal 0 0\nup\ngroup b\nvirtual 0 data\nup\nsoft c a\nhard d data\n"
                "attribute samples int 1\nattribute stripes texts 2\n"),
  };
}
}  // namespace

Target hdf5() { return {"hdf5", run, seeds}; }

}  // namespace cortado::fuzz
