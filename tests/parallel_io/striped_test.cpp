// Striped sets: what is written comes back, damage is named, other HDF5 programs see one array.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "parallel_io/sets/hdf5_set.h"
#include "tests/parallel_io/sets_rig.h"

namespace cortado::test::striped_test {
namespace {
namespace fs = std::filesystem;

OpenOptions verifying() {
  OpenOptions options;
  options.verify = true;
  return options;
}

/// Flips one bit of a file.
void flip(const std::string& file, i64 offset) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(offset);
  const char byte = static_cast<char>(stream.get() ^ 0x10);
  stream.seekp(offset);
  stream.put(byte);
}

TEST(Striped, ComesBackWhateverTheShapesAndSizes) {
  for (const Stored stored : {Stored::uint8, Stored::float32})
    for (const Shape& shape : {Shape{3, 4, 5}, Shape{1, 1, 1}, Shape{7}, Shape{}})
      for (const i64 samples : {1, 2, 9, 50, 101})
        for (const i64 stripes : {1, 3, 32}) {
          const TemporaryFolder folder;
          const MadeSet made(samples, shape, stored);
          write(made, folder.file("s.h5"), as(Format::striped, stripes, 600));
          const Hdf5Set back(folder.file("s.h5"), verifying());
          expect_equal(made, back, std::to_string(samples) + " samples in " + std::to_string(stripes) + " stripes");
          EXPECT_LE(back.stripes(), stripes);
          EXPECT_FALSE(fs::exists(folder.file("s.h5.part")));
        }
}

TEST(Striped, AnyIndicesInAnyOrder) {
  const TemporaryFolder folder;
  const MadeSet made(97, {2, 3, 3}, Stored::uint8);
  write(made, folder.file("s.h5"), as(Format::striped, 3, 18 * 5));
  const Hdf5Set back(folder.file("s.h5"), verifying());
  std::vector<Values> wanted, got;
  for (const std::vector<i64>& indices : {std::vector<i64>{96, 0, 5, 4, 4, 50, 4}, std::vector<i64>{0},
                                          std::vector<i64>{14, 15, 16, 17, 30, 29}, std::vector<i64>(40, 77)}) {
    made.read(indices.data(), static_cast<i64>(indices.size()), wanted);
    back.read(indices.data(), static_cast<i64>(indices.size()), got);
    EXPECT_EQ(wanted[0].bytes, got[0].bytes);
    EXPECT_EQ(wanted[1].bytes, got[1].bytes);
  }
}

TEST(Striped, FoldersTakeStripesInTurn) {
  const TemporaryFolder folder;
  const MadeSet made(40, {10}, Stored::uint8);
  auto options = as(Format::striped, 4, 50);
  options.folders = {folder.file("one"), folder.file("two"), folder.file("three")};
  write(made, folder.file("s.h5"), options);
  EXPECT_TRUE(fs::exists(folder.file("one/s.000.h5")));
  EXPECT_TRUE(fs::exists(folder.file("two/s.001.h5")));
  EXPECT_TRUE(fs::exists(folder.file("one/s.003.h5")));
  expect_equal(made, *open_set(folder.file("s.h5")), "in three folders");
}

/// Files that only this process can open, of one stripe and of many.
TEST(Striped, NeedsNoNames) {
  const TemporaryFolder folder;
  const MadeSet made(40, {10}, Stored::uint8);
  for (const Format format : {Format::hdf5, Format::striped}) {
    std::vector<Descriptor> files;
    for (int i = 0; i < 3; ++i) files.push_back(unnamed_file(folder.path().string()));
    const Descriptor master = unnamed_file(folder.path().string());
    auto options = as(format, 32, 50);
    options.unnamed = &files;
    const std::string path = path_of(format == Format::hdf5 ? files[0] : master);
    write(made, path, options);
    const Hdf5Set back(path, verifying());
    expect_equal(made, back, "without names");
    EXPECT_EQ(back.stripes(), format == Format::hdf5 ? 1 : 3);
    EXPECT_TRUE(fs::is_empty(folder.path()));
  }
}

/// The HDF5 library itself follows the master's virtual data sets.
TEST(Striped, OtherProgramsSeeOneArray) {
  const TemporaryFolder folder;
  const MadeSet made(53, {2, 5}, Stored::uint8);
  write(made, folder.file("s.h5"), as(Format::striped, 4, 40));
  const auto values = read_all(made);
  const hdf5::File master(folder.file("s.h5"));
  for (const char* name : {"data", "label"}) {
    const hdf5::Array array(master, name);
    ASSERT_EQ(array.samples(), 53);
    std::vector<float> got(static_cast<std::size_t>(53 * count_of(array.sample_shape())));
    array.read(0, 53, got.data());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], name[0] == 'd' ? values[0].bytes[i] : MadeSet::label(static_cast<i64>(i))) << name << " " << i;
  }
}

TEST(Striped, EncodedImagesOfAnySize) {
  const TemporaryFolder folder;
  const MadeSet made(23, {3, 6, 4}, Stored::uint8);
  write(made, folder.file("list.txt"), as(Format::images));
  const auto images = open_set(folder.file("list.txt"));
  write(*images, folder.file("s.h5"), as(Format::striped, 3, 72 * 4));
  const Hdf5Set back(folder.file("s.h5"), verifying());
  EXPECT_EQ(back.fields()[0].stored, Stored::encoded);
  expect_equal(*images, back, "encoded");
  const std::vector<i64> indices = {22, 3, 3, 0};
  std::vector<Values> wanted, got;
  images->read(indices.data(), 4, wanted);
  back.read(indices.data(), 4, got);
  EXPECT_EQ(wanted[0].bytes, got[0].bytes);
  EXPECT_EQ(wanted[0].begin, got[0].begin);
  const PreparedSet decoded(open_set(folder.file("s.h5")), {});
  expect_equal(made, decoded, "decoded");
}

/// A file of bytes, all of it a hole but the last one, 77.
void write_hole(const std::string& file_name, i64 samples, i64 bytes) {
  const hdf5::Handle file(H5Fcreate(file_name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  const hdf5::Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER);
  const hsize_t dims[] = {static_cast<hsize_t>(samples), static_cast<hsize_t>(bytes)};
  const hdf5::Handle space(H5Screate_simple(2, dims, nullptr), H5Sclose);
  const hdf5::Handle set(
      H5Dcreate2(file.get(), "data", H5T_STD_U8LE, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT), H5Dclose);
  const hsize_t start[] = {dims[0] - 1, dims[1] - 1}, one[] = {1, 1};
  H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, one, nullptr);
  const hdf5::Handle memory(H5Screate_simple(2, one, nullptr), H5Sclose);
  const std::uint8_t value = 77;
  ASSERT_GE(H5Dwrite(set.get(), H5T_STD_U8LE, memory.get(), space.get(), H5P_DEFAULT, &value), 0);
}

/// More bytes than 32 bits count, and more samples.
TEST(Striped, BeyondTwoGigabytesAndTwoToThe31Samples) {
  for (const auto& [samples, bytes] : {std::pair<i64, i64>{5, i64{600} << 20}, {(i64{1} << 31) + 5, 1}}) {
    const TemporaryFolder folder;
    write_hole(folder.file("a.h5"), samples, bytes);
    OpenOptions options;
    options.fields = {"data"};
    const Hdf5Set set(folder.file("a.h5"), options);
    EXPECT_EQ(set.samples(), samples);
    const i64 indices[] = {samples - 1, samples / 2};
    std::vector<Values> values;
    set.read(indices, bytes > 1 ? 1 : 2, values);
    EXPECT_EQ(values[0].bytes[static_cast<std::size_t>(bytes) - 1], 77);
    EXPECT_EQ(values[0].bytes.back(), bytes > 1 ? 77 : 0);
  }
}

TEST(Striped, DamageIsNamed) {
  const TemporaryFolder folder;
  const MadeSet made(60, {100}, Stored::uint8);
  const auto fresh = [&] {
    for (const auto& entry : fs::directory_iterator(folder.path())) fs::remove_all(entry);
    write(made, folder.file("s.h5"), as(Format::striped, 3, 1000));
  };
  const std::string stripe = folder.file("s.h5.stripes/s.001.h5");
  const auto open = [&] { Hdf5Set(folder.file("s.h5"), {}); };

  fresh();
  fs::remove(stripe);
  expect_says(message_of(open), "s.001.h5");

  fresh();
  fs::resize_file(stripe, fs::file_size(stripe) - 1);
  expect_says(message_of(open), "s.001.h5");

  fresh();
  fs::copy_file(folder.file("s.h5.stripes/s.002.h5"), stripe, fs::copy_options::overwrite_existing);
  expect_says(message_of(open), "is not stripe 1");

  fresh();
  fs::copy_file(folder.file("s.h5.stripes/s.002.h5"), folder.file("kept.h5"));
  for (const auto& entry : {"s.h5", "s.h5.stripes"}) fs::remove_all(folder.file(entry));
  const MadeSet other(61, {100}, Stored::uint8);
  write(other, folder.file("s.h5"), as(Format::striped, 3, 1000));
  fs::copy_file(folder.file("kept.h5"), folder.file("s.h5.stripes/s.002.h5"), fs::copy_options::overwrite_existing);
  expect_says(message_of(open), "it belongs to another set");

  fresh();
  std::ofstream(stripe) << "no HDF5";
  expect_says(message_of(open), "s.001.h5");

  // A flipped bit in sample 25's values: stripe 1 has samples 10 to 19 and 40 to 49, and so on.
  fresh();
  i64 offset = 0;
  {
    const hdf5::File file(stripe);
    offset = hdf5::Array(file, "data").offset();
  }
  flip(stripe, offset + 7 * 100 + 3);
  EXPECT_NO_THROW(read_all(Hdf5Set(folder.file("s.h5"), {})));
  const std::string found = message_of([&] { read_all(Hdf5Set(folder.file("s.h5"), verifying())); });
  expect_says(found, "s.001.h5, sample 17");
  expect_says(found, "checksum");
}

TEST(Striped, UnfinishedIsRefusedAndGoneOnWith) {
  for (const Format format : {Format::striped, Format::hdf5, Format::lmdb, Format::images}) {
    const TemporaryFolder folder;
    const MadeSet made(3000, {1, 2, 2}, Stored::uint8);
    const std::string to = folder.file(format == Format::images ? "s.txt" : "s.h5");
    const Replicas alone;
    {
      const auto writer = make_writer(made, to, as(format, 4, 400), alone);
      std::vector<i64> indices(100);
      std::iota(indices.begin(), indices.end(), i64{0});
      std::vector<Values> values;
      made.read(indices.data(), 100, values);
      writer->write(0, std::min<i64>(100, writer->block()), values);
      if (writer->block() == 100) writer->finish_block(0);
    }  // and then it dies
    expect_says(message_of([&] { open_set(to); }), "is unfinished");
    auto other = as(format, 4, 400);
    other.from = "something else";
    expect_says(message_of([&] { make_writer(made, to, other, alone); }), "unfinished work of another conversion");
    if (format == Format::striped) { EXPECT_TRUE(make_writer(made, to, as(format, 4, 400), alone)->is_done(0)); }
    write(made, to, as(format, 4, 400));
    const PreparedSet back(open_set(to), {});
    expect_equal(made, back, "gone on");
    expect_says(message_of([&] { write(made, to, as(format, 4, 400)); }), "is there already");
  }
}

TEST(Striped, WhatIsNotToBeKeptGoesWithErrorsAndSignals) {
  const MadeSet made(300, {1, 2, 2}, Stored::uint8);
  const Replicas alone;
  for (const Format format : {Format::hdf5, Format::lmdb}) {
    const TemporaryFolder folder;
    const std::string to = folder.file("s");
    WriteOptions options = as(format);
    options.keeps_unfinished = false;
    const auto entries = [&] {
      return std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator());
    };
    const auto fail = [](i64 done, i64 /*total*/) {
      if (done > 0) throw FileError("disk", "is full");
    };
    EXPECT_THROW(write_set(made, *make_writer(made, to, options, alone), alone, fail), FileError);
    EXPECT_EQ(entries(), 0);
    const auto interrupted = [&](i64 done, i64 /*total*/) {
      if (done == 0 || entries() < 2) return;
      Leftovers::remove_all();  // as a signal does
      std::_Exit(3);
    };
    EXPECT_EXIT(write_set(made, *make_writer(made, to, options, alone), alone, interrupted), testing::ExitedWithCode(3),
                "");
    EXPECT_EQ(entries(), 0);
    write(made, to, options);
    EXPECT_EQ(open_set(to)->samples(), 300);
    EXPECT_EQ(entries(), 1);
    EXPECT_THROW(make_writer(made, to, options, alone), FileError);
    EXPECT_EQ(open_set(to)->samples(), 300) << "what was there before stays";
  }
}

TEST(Striped, ValuesThatDoNotFitAreRefused) {
  const TemporaryFolder folder;
  const MadeSet flat(5, {7}, Stored::uint8), floats(5, {1, 2, 2}, Stored::float32), grey(5, {1, 2, 2}, Stored::uint8);
  expect_says(message_of([&] { write(flat, folder.file("a"), as(Format::lmdb)); }), "channels, height and width");
  expect_says(message_of([&] { write(floats, folder.file("b.txt"), as(Format::images)); }), "1 or 3 channels");
  expect_says(message_of([&] { write(floats, folder.file("x-images-idx3-ubyte"), as(Format::idx)); }), "grey images");
  expect_says(message_of([&] { write(grey, folder.file("c.bin"), as(Format::cifar)); }), "3 x 32 x 32");
  expect_says(message_of([&] { write(grey, folder.file("plain"), as(Format::idx)); }), "file of labels");
  expect_says(message_of([&] { write(grey, folder.file("list"), as(Format::images)); }), "name the list");
  EXPECT_TRUE(std::filesystem::is_empty(folder.file(""))) << "what is refused leaves nothing behind";
}

}  // namespace
}  // namespace cortado::test::striped_test
