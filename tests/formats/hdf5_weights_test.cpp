#include "parallel_io/weights/hdf5_weights.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "core/base/error.h"
#include "core/formats/blob_proto.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "tests/support/hdf5_file.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test::hdf5_weights_test {
namespace {
caffe::NetParameter some_weights() {
  caffe::NetParameter net;
  parse_text(R"(
    layer { name: "data" type: "Data" }
    layer { name: "a/1x1" blobs { shape { dim: 2 dim: 3 } data: [1, 2, 3, 4, 5, 6] diff: [6, 5, 4, 3, 2, 1] }
            blobs { shape { dim: 2 } data: [7, 8] diff: [0, 9] } }
    layer { name: "a/3x3" blobs { shape { dim: 1 } diff: [4] } blobs { shape { dim: 1 } data: [-1] diff: [3] } }
    layer { name: "scalar" blobs { shape {} data: [0.5] diff: [0.25] } blobs { shape { dim: 0 dim: 3 } } })",
             "net", net);
  return net;
}

const caffe::LayerParameter* find(const caffe::NetParameter& net, const std::string& name) {
  for (const auto& layer : net.layer())
    if (layer.name() == name) return &layer;
  return nullptr;
}

class Hdf5WeightsTest : public ::testing::Test {
 protected:
  void expect_weights_error(const std::string& name, const std::string& words) const {
    caffe::NetParameter weights;
    try {
      hdf5_.read_weights(name, weights);
      ADD_FAILURE() << name << " was read";
    } catch (const FileError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }
  void expect_error(const std::string& name, const std::string& words) const {
    caffe::NetParameter weights;
    caffe::SolverState state;
    for (const bool is_state : {false, true}) try {
        if (is_state)
          hdf5_.read_state(name, state);
        else
          hdf5_.read_weights(name, weights);
        ADD_FAILURE() << name << " was read";
      } catch (const FileError& error) {
        EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
      }
  }
  Hdf5Weights hdf5_;
  TemporaryFolder folder_;
};

TEST_F(Hdf5WeightsTest, HoldBlobsAndGradientsByLayer) {
  const std::string file = folder_.file("w.caffemodel.h5");
  const auto written = some_weights();
  hdf5_.write_weights(file, written);
  caffe::NetParameter read;
  hdf5_.read_weights(file, read);
  ASSERT_EQ(read.layer_size(), 4) << read.DebugString();
  for (const auto& layer : written.layer()) {
    const auto* const twin = find(read, layer.name());
    ASSERT_NE(twin, nullptr) << layer.name();
    ASSERT_EQ(twin->blobs_size(), layer.blobs_size());
    for (int i = 0; i < layer.blobs_size(); ++i)
      EXPECT_EQ(twin->blobs(i).SerializeAsString(), layer.blobs(i).SerializeAsString()) << layer.name() << " " << i;
  }
  EXPECT_FALSE(std::filesystem::exists(file + ".partial"));
}

TEST_F(Hdf5WeightsTest, BlobsOfOthersAreLeftOut) {
  caffe::NetParameter net, read;
  parse_text(R"(layer { name: "a" blobs { shape { dim: 1 } } blobs { shape { dim: 1 } data: [3] } })", "net", net);
  hdf5_.write_weights(folder_.file("w.h5"), net);
  hdf5_.read_weights(folder_.file("w.h5"), read);
  ASSERT_EQ(read.layer(0).blobs_size(), 2);
  EXPECT_EQ(read.layer(0).blobs(0).ByteSizeLong(), 0u);
  EXPECT_EQ(read.layer(0).blobs(1).data(0), 3);
}

TEST_F(Hdf5WeightsTest, StatesKeepEverything) {
  caffe::SolverState state, read;
  parse_text(R"(iter: 7 learned_net: "x_iter_7.caffemodel.h5" current_step: 2
    history { shape { dim: 2 } data: [1, 2] } history { shape { dim: 1 dim: 1 } data: [3] }
    cortado { plan { direction: "conv1/forward" candidate: "implicit" } ranks: 3 threads: 2 })",
             "state", state);
  for (int i = 2; i < 12; ++i) {  // "10" comes before "2" in HDF5's order
    auto& blob = *state.add_history();
    blob.mutable_shape()->add_dim(1);
    blob.add_data(static_cast<float>(i));
  }
  const std::string file = folder_.file("x.solverstate.h5");
  hdf5_.write_state(file, state);
  hdf5_.read_state(file, read);
  EXPECT_EQ(read.SerializeAsString(), state.SerializeAsString()) << read.DebugString();
}

TEST_F(Hdf5WeightsTest, BrokenAndForeignFilesAreRefused) {
  const std::string whole = folder_.file("whole.h5");
  hdf5_.write_weights(whole, some_weights());
  expect_error(folder_.file("absent.h5"), "cannot be read");
  expect_error(folder_.write("text.h5", "no HDF5"), "is not a whole HDF5 file");
  for (const double share : {0.9, 0.5, 0.01}) {
    const std::string cut = folder_.file("cut.h5");
    std::filesystem::copy_file(whole, cut, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(
        cut, static_cast<std::uintmax_t>(share * static_cast<double>(std::filesystem::file_size(whole))));
    expect_error(cut, "is not a whole HDF5 file");
  }
  const std::string foreign = folder_.file("foreign.h5");
  write_hdf5(foreign, {{"label", {2}, H5T_NATIVE_FLOAT, {1, 2}}});
  expect_error(foreign, "it has: label");
}

TEST_F(Hdf5WeightsTest, SizesThatTheFileCannotHoldAreRefused) {
  for (const bool chunked : {false, true}) {
    const std::string name = folder_.file(chunked ? "chunked.h5" : "whole.h5");
    const hid_t file = H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t data = H5Gcreate2(file, "data", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t layer = H5Gcreate2(data, "a", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t dims[] = {40000, 50000}, chunk[] = {10, 10};
    const hid_t space = H5Screate_simple(2, dims, nullptr), list = H5Pcreate(H5P_DATASET_CREATE);
    if (chunked) H5Pset_chunk(list, 2, chunk);
    H5Dclose(H5Dcreate2(layer, "0", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, list, H5P_DEFAULT));  // never written
    H5Pclose(list);
    H5Sclose(space);
    H5Gclose(layer);
    H5Gclose(data);
    ASSERT_GE(H5Fclose(file), 0);
    caffe::NetParameter weights;
    try {
      hdf5_.read_weights(name, weights);
      ADD_FAILURE() << name << " was read";
    } catch (const FileError& error) {
      EXPECT_NE(std::string(error.what()).find("than the file can hold"), std::string::npos) << error.what();
    }
  }
}

/// Groups that hold themselves, or are very many.
TEST_F(Hdf5WeightsTest, LoopsOfGroupsEnd) {
  const auto make = [&](const char* name, const std::function<void(hid_t)>& fill) {
    const std::string path = folder_.file(name);
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t data = H5Gcreate2(file, "data", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    fill(data);
    H5Gclose(data);
    EXPECT_GE(H5Fclose(file), 0);
    return path;
  };
  const std::string below = "below more groups";
  expect_weights_error(
      make("hard.h5", [](hid_t data) { H5Lcreate_hard(data, ".", data, "a", H5P_DEFAULT, H5P_DEFAULT); }), below);
  expect_weights_error(
      make("soft.h5", [](hid_t data) { H5Lcreate_soft("/data", data, "a", H5P_DEFAULT, H5P_DEFAULT); }), below);
  expect_weights_error(
      make("external.h5",
           [](hid_t data) { H5Lcreate_external("external.h5", "/data", data, "a", H5P_DEFAULT, H5P_DEFAULT); }),
      below);
  expect_weights_error(make("paths.h5",
                            [](hid_t data) {  // 2 to the 40 paths
                              hid_t at = data;
                              for (int i = 0; i < 40; ++i) {
                                const hid_t next = H5Gcreate2(at, "a", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
                                H5Lcreate_hard(at, "a", at, "b", H5P_DEFAULT, H5P_DEFAULT);
                                if (at != data) H5Gclose(at);
                                at = next;
                              }
                              H5Gclose(at);
                            }),
                       below);
  expect_weights_error(
      make("away.h5",
           [](hid_t data) { H5Lcreate_external("absent.h5", "/data", data, "a", H5P_DEFAULT, H5P_DEFAULT); }),
      "takes values from 'absent.h5', which is not there");
  ASSERT_EQ(mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  expect_weights_error(
      make("pipes.h5", [](hid_t data) { H5Lcreate_external("pipe", "/data", data, "a", H5P_DEFAULT, H5P_DEFAULT); }),
      "is no regular file");
}

/// Values that lie elsewhere, or that nothing here can unpack.
TEST_F(Hdf5WeightsTest, SourcesThatAreAwayAreNamed) {
  const auto make = [&](const char* name, const std::function<void(hid_t, hid_t)>& prepare) {
    const std::string path = folder_.file(name);
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t links = H5Pcreate(H5P_LINK_CREATE), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    const hsize_t size = 4;
    const hid_t space = H5Screate_simple(1, &size, nullptr);
    prepare(list, space);
    const hid_t set = H5Dcreate2(file, "data/a/0", H5T_NATIVE_FLOAT, space, links, list, H5P_DEFAULT);
    EXPECT_GE(set, 0) << name;
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(list);
    H5Pclose(links);
    EXPECT_GE(H5Fclose(file), 0);
    return path;
  };
  const auto over = [&](const char* source) {
    return [source](hid_t list, hid_t space) { H5Pset_virtual(list, space, source, "values", space); };
  };
  expect_weights_error(make("virtual.h5", over("absent.h5")), "takes values from 'absent.h5', which is not there");
  write_hdf5(folder_.file("other.h5"), {{"others", {4}, H5T_NATIVE_FLOAT, {1, 2, 3, 4}}});
  expect_weights_error(make("lacks.h5", over("other.h5")), "which has no data set 'values'");
  write_hdf5(folder_.file("there.h5"), {{"values", {4}, H5T_NATIVE_FLOAT, {1, 2, 3, 4}}});
  caffe::NetParameter weights;
  hdf5_.read_weights(make("whole.h5", over("there.h5")), weights);
  EXPECT_EQ(weights.layer(0).blobs(0).data(3), 4);
  expect_weights_error(make("raw.h5", [](hid_t list, hid_t) { H5Pset_external(list, "absent.raw", 0, 16); }),
                       "takes values from 'absent.raw', which is not there");
}

TEST_F(Hdf5WeightsTest, WhatIsNoBlobIsNamed) {
  const std::string file = folder_.file("other.h5");
  write_hdf5(file, {{"data", {2}, H5T_NATIVE_FLOAT, {1, 2}}});  // a data set of samples, as HDF5Data reads
  caffe::NetParameter weights;
  EXPECT_THROW(hdf5_.read_weights(file, weights), FileError);
  caffe::NetParameter odd;
  parse_text(R"(layer { name: "a//b" blobs { shape { dim: 1 } data: [3] } })", "net", odd);
  EXPECT_THROW(hdf5_.write_weights(file, odd), FileError);
  EXPECT_THROW(hdf5_.write_weights(folder_.file("nowhere/w.h5"), some_weights()), FileError);
}

TEST_F(Hdf5WeightsTest, AreToldByNameOrContent) {
  const std::string file = folder_.file("weights");
  hdf5_.write_weights(file, some_weights());
  caffe::NetParameter weights;
  read_weights(file, &hdf5_, weights);
  EXPECT_NE(find(weights, "a/1x1"), nullptr);
  EXPECT_THROW(read_weights(file, nullptr, weights), ConfigError);
  EXPECT_TRUE(is_hdf5("absent.caffemodel.h5"));
  EXPECT_FALSE(is_hdf5(folder_.write("net.prototxt", "name: 'x'")));
  EXPECT_THROW(read_weights(folder_.file("net.prototxt"), nullptr, weights), FileError) << "a net without weights";
  const std::string text = folder_.write("weights.prototxt", "name: 'x' layer { name: 'a' blobs { data: 2 } }");
  read_weights(text, nullptr, weights);
  EXPECT_EQ(weights.name(), "x");
}

}  // namespace
}  // namespace cortado::test::hdf5_weights_test
