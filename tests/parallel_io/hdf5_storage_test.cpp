// Where HDF5's library gives its fill value in place of values: raw files, sources of virtual data sets, and what was
// never written. And names that stand for something else than a data set.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "core/base/error.h"
#include "parallel_io/sets/hdf5.h"
#include "parallel_io/sets/hdf5_set.h"
#include "tests/parallel_io/sets_rig.h"
#include "tests/support/hdf5_file.h"

namespace cortado::test::hdf5_storage_test {
namespace {
using hdf5::Handle;
using Make = std::function<void(hid_t list, hid_t space)>;  // sets how the array is kept

class Hdf5StorageTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }

  /// NAME with 'data', 10 x 4 floats that `make` has a say in, and written values where it says so.
  void write(const std::string& name, const Make& make, bool written = false) const {
    const Handle to(H5Fcreate(file(name).c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const hsize_t dims[] = {10, 4};
    const Handle space(H5Screate_simple(2, dims, nullptr), H5Sclose), list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    make(list.get(), space.get());
    const Handle set(H5Dcreate2(to.get(), "data", H5T_IEEE_F32LE, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT),
                     H5Dclose);
    ASSERT_GE(set.get(), 0) << name;
    const std::vector<float> values(40, 3);
    if (!written) return;
    ASSERT_GE(H5Dwrite(set.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  }
  void write_source(const std::string& name, i64 samples) const {
    write_hdf5(file(name),
               {{"x", {samples, 4}, H5T_IEEE_F32LE, std::vector<float>(static_cast<std::size_t>(4 * samples), 3)}});
  }
  /// A mapping of samples [first, first + count) from the same places of SOURCE, which had ten samples.
  static void map(hid_t list, hid_t space, const char* source, hsize_t first, hsize_t count) {
    const hsize_t start[] = {first, 0}, counts[] = {count, 4};
    const Handle there(H5Scopy(space), H5Sclose);
    for (const hid_t each : {space, there.get()})
      H5Sselect_hyperslab(each, H5S_SELECT_SET, start, nullptr, counts, nullptr);
    H5Pset_virtual(list, space, source, "x", there.get());
    H5Sselect_all(space);
  }

  /// What is logged while the file is opened and all of its values, threes or the fill value, are read; or the error.
  std::string told_of(const std::string& name) const {
    testing::internal::CaptureStderr();
    std::string error;
    try {
      const hdf5::File from(file(name));
      const hdf5::Array array(from, "data");
      std::vector<float> values(40);
      array.read(0, 10, values.data());
    } catch (const FileError& refused) { error = refused.what(); }
    const std::string log = testing::internal::GetCapturedStderr();
    return error.empty() ? log : error;
  }
  void expect_told(const std::string& name, const std::vector<std::string>& words) const {
    const std::string text = told_of(name);
    for (const auto& word : words) EXPECT_NE(text.find(word), std::string::npos) << name << ": " << text;
  }

  TemporaryFolder folder_;
};

TEST_F(Hdf5StorageTest, RawFilesHaveAllBytes) {
  const std::string raw = file("values.raw");
  const Make whole = [&](hid_t list, hid_t) { H5Pset_external(list, raw.c_str(), 0, 160); };
  write("whole.h5", whole, true);
  EXPECT_EQ(told_of("whole.h5"), "");
  std::filesystem::resize_file(raw, 100);
  expect_told("whole.h5", {"whole.h5", "values.raw", "has 100 bytes where 160 are due"});
  write("open.h5", [&](hid_t list, hid_t) { H5Pset_external(list, raw.c_str(), 20, H5F_UNLIMITED); });
  expect_told("open.h5", {"values.raw", "has 100 bytes where 180 are due"});
  const std::string second = folder_.write("second.raw", std::string(31, 'x'));
  write("two.h5", [&](hid_t list, hid_t) {
    H5Pset_external(list, raw.c_str(), 0, 100);
    H5Pset_external(list, second.c_str(), 0, 80);
  });
  expect_told("two.h5", {"second.raw", "has 31 bytes where 60 are due"});
  std::filesystem::remove(second);
  expect_told("two.h5", {"second.raw", "is not there"});
}

TEST_F(Hdf5StorageTest, VirtualSourcesAreThereAndLargeEnough) {
  write_source("a.h5", 10);
  write_source("b.h5", 10);
  write("v.h5", [&](hid_t list, hid_t space) {
    map(list, space, "a.h5", 0, 6);
    map(list, space, "b.h5", 6, 4);
  });
  EXPECT_EQ(told_of("v.h5"), "");
  write_source("b.h5", 9);
  expect_told("v.h5", {"b.h5, data set 'x'", "has shape 9 4 (36) where at least 10 4 (40) is due"});
  std::filesystem::remove(file("b.h5"));
  expect_told("v.h5", {"'b.h5'", "is not there"});
  write_hdf5(file("b.h5"), {{"y", {1}, H5T_IEEE_F32LE, {1}}});
  expect_told("v.h5", {"b.h5", "which has no data set 'x'"});
  write("half.h5", [&](hid_t list, hid_t space) { map(list, space, "a.h5", 0, 6); });
  expect_told("half.h5", {"half.h5", "16 of 40 values come from no source"});
  EXPECT_EQ(told_of("half.h5"), "");  // once
}

TEST_F(Hdf5StorageTest, WhatWasNeverWrittenIsToldFromZeros) {
  const Make plain = [](hid_t, hid_t) {};
  const float fill = 3;
  const hsize_t chunk[] = {2, 4};
  const Make filled = [&](hid_t list, hid_t) { H5Pset_fill_value(list, H5T_NATIVE_FLOAT, &fill); };
  const Make chunked = [&](hid_t list, hid_t) { H5Pset_chunk(list, 2, chunk); };
  write("written.h5", plain, true);
  EXPECT_EQ(told_of("written.h5"), "");
  write("never.h5", plain);
  expect_told("never.h5", {"never.h5", "holds no values"});
  write("never2.h5", chunked);
  expect_told("never2.h5", {"never2.h5", "holds no values"});
  write("filled.h5", filled);
  expect_told("filled.h5", {"no value was ever written: all read as the fill value"});
  write("holes.h5", chunked);
  {
    const Handle to(H5Fopen(file("holes.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose),
        set(H5Dopen2(to.get(), "data", H5P_DEFAULT), H5Dclose), space(H5Dget_space(set.get()), H5Sclose);
    const hsize_t start[] = {2, 0}, counts[] = {3, 4};
    const std::vector<float> values(12, 3);
    const Handle memory(H5Screate_simple(2, counts, nullptr), H5Sclose);
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, counts, nullptr);
    ASSERT_GE(H5Dwrite(set.get(), H5T_NATIVE_FLOAT, memory.get(), space.get(), H5P_DEFAULT, values.data()), 0);
  }
  expect_told("holes.h5", {"3 of 5 chunks were never written"});
}

TEST_F(Hdf5StorageTest, NamesThatAreNoDataSetSayWhatTheyAre) {
  const auto with = [&](const std::string& name, const std::function<void(hid_t)>& add) {
    const Handle to(H5Fcreate(file(name).c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    add(to.get());
  };
  with("soft.h5", [](hid_t to) { H5Lcreate_soft("/nowhere", to, "data", H5P_DEFAULT, H5P_DEFAULT); });
  expect_told("soft.h5", {"'data' is a link to '/nowhere', which is not there"});
  with("loop.h5", [](hid_t to) { H5Lcreate_soft("/data", to, "data", H5P_DEFAULT, H5P_DEFAULT); });
  expect_told("loop.h5", {"'data' is a link to '/data'", "leads in a circle"});
  with("self.h5", [](hid_t to) { H5Lcreate_external("self.h5", "/data", to, "data", H5P_DEFAULT, H5P_DEFAULT); });
  expect_told("self.h5", {"'data' is a link to '/data' of the file 'self.h5'"});
  with("group.h5",
       [](hid_t to) { const Handle group(H5Gcreate2(to, "data", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose); });
  expect_told("group.h5", {"'data' is a group, not a data set"});
  with("other.h5",
       [](hid_t to) { const Handle group(H5Gcreate2(to, "more", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose); });
  expect_told("other.h5", {"has no data set 'data' (it has: more)"});
}

TEST_F(Hdf5StorageTest, DamagedFilesAreToldInOurWords) {
  write(
      "good.h5", [](hid_t, hid_t) {}, true);
  const std::string bytes = [&] {
    std::ifstream in(file("good.h5"), std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  }();
  folder_.write("cut.h5", bytes.substr(0, bytes.size() - 100));
  expect_told("cut.h5", {"cut.h5: is not a whole HDF5 file: it has " + std::to_string(bytes.size() - 100) + " bytes, " +
                         std::to_string(bytes.size()) + " are due"});
  folder_.write("start.h5", bytes.substr(0, 8));
  expect_told("start.h5", {"start.h5: is not a whole HDF5 file: it has 8 bytes"});
  folder_.write("zeros.h5", bytes.substr(0, 8) + std::string(1000, '\0') + "x");
  expect_told("zeros.h5", {"zeros.h5: is not a whole HDF5 file: it is damaged"});
  folder_.write("text.h5", std::string(1000, 'x'));
  expect_told("text.h5", {"text.h5: is not a whole HDF5 file: its first bytes are another format"});
}

}  // namespace
}  // namespace cortado::test::hdf5_storage_test
