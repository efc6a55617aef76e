#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "core/net/net.h"
#include "layers/all_layers.h"
#include "parallel_io/feed/sinks.h"
#include "parallel_io/feed/sources.h"
#include "tests/support/backends.h"
#include "tests/support/hdf5_file.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test {

/// Nets that read files of a folder of their own, and write there.
class DataLayersTest : public ::testing::TestWithParam<std::string> {
 protected:
  NetOptions options(std::uint64_t seed = 1) const {
    NetOptions options;
    options.group = &group_of(GetParam());
    options.layers = &table_;
    options.sources = &sources_;
    options.sinks = &sinks_;
    options.seed = seed;
    return options;
  }
  static std::unique_ptr<Net> net(const std::string& text, const NetOptions& options) {
    caffe::NetParameter parameter;
    parse_text(text, "test", parameter);
    return std::make_unique<Net>(parameter, options);
  }
  std::unique_ptr<Net> net(const std::string& text, std::uint64_t seed = 1) const { return net(text, options(seed)); }
  /// The first value of each sample of blob "data" in that pass of that rank.
  std::vector<float> samples(Net& of, i64 pass, int rank = 0, int ranks = 1) {
    of.run().pass = pass;
    of.run().rank = rank;
    of.run().ranks = ranks;
    of.forward();
    return of.blob("data")->data_vector();
  }
  std::string list(i64 count) {
    std::vector<float> values;
    for (i64 i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
    write_hdf5(folder_.file("a.h5"), {{"data", {count, 1}, H5T_IEEE_F32LE, values}});
    return folder_.write("list.txt", "a.h5\n");
  }
  std::string hdf5_data(i64 batch, const std::string& more = "") {
    return "layer { name: 'd' type: 'HDF5Data' top: 'data' hdf5_data_param { source: '" + folder_.file("list.txt") +
           "' batch_size: " + std::to_string(batch) + " " + more + " } }";
  }

  LayerTable table_ = all_layers();
  Sources sources_;
  Sinks sinks_;
  TemporaryFolder folder_;
};

}  // namespace cortado::test
