// Data that go from format to format come back as they were.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <limits>

#include "core/base/error.h"
#include "core/formats/blob_proto.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/prototxt.h"
#include "parallel_io/sets/byte_sets.h"
#include "parallel_io/sets/hdf5_set.h"
#include "parallel_io/sets/image_set.h"
#include "parallel_io/sets/lmdb_set.h"
#include "tests/parallel_io/sets_rig.h"
#include "tests/support/hdf5_file.h"

namespace cortado::test::chains_test {
namespace {
namespace fs = std::filesystem;

std::string name_of(Format format, const std::string& stem) {
  switch (format) {
    case Format::lmdb: return stem + "_lmdb";
    case Format::images: return stem + ".txt";
    case Format::idx: return stem + "-images-idx3-ubyte";
    case Format::cifar: return stem + ".bin";
    default: return stem + ".h5";
  }
}

SetOptions options_for(Format format) {
  SetOptions options;
  options.write = as(format, 5, 3000);
  return options;
}

/// Through the formats one after another, each compared with the first.
void expect_chain(const DataSet& first, const std::string& from, const std::vector<Format>& chain,
                  const TemporaryFolder& folder) {
  std::string last = from;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const std::string next = folder.file(name_of(chain[i], "c" + std::to_string(i)));
    convert_set(last, next, options_for(chain[i]), {});
    const PreparedSet decoded(open_set(next), {});
    expect_equal(first, decoded, next);
    last = next;
  }
}

TEST(Chains, GreyThroughAllFormatsInAllOrders) {
  std::vector<Format> formats = {Format::hdf5, Format::striped, Format::lmdb, Format::images, Format::idx};
  const MadeSet made(61, {1, 7, 5}, Stored::uint8);
  do {
    const TemporaryFolder folder;
    write(made, folder.file("first.h5"));
    expect_chain(made, folder.file("first.h5"), formats, folder);
  } while (std::next_permutation(formats.begin(), formats.end()) && !::testing::Test::HasFailure());
}

TEST(Chains, ColourThroughCifar) {
  const TemporaryFolder folder;
  const MadeSet made(30, {3, 32, 32}, Stored::uint8);
  write(made, folder.file("first.h5"));
  expect_chain(made, folder.file("first.h5"),
               {Format::cifar, Format::striped, Format::images, Format::cifar, Format::lmdb, Format::images,
                Format::hdf5, Format::lmdb, Format::cifar},
               folder);
}

TEST(Chains, FloatsThroughHdf5AndLmdb) {
  const TemporaryFolder folder;
  const MadeSet made(30, {2, 3, 4}, Stored::float32);
  write(made, folder.file("first.h5"));
  expect_chain(made, folder.file("first.h5"), {Format::striped, Format::lmdb, Format::hdf5, Format::lmdb}, folder);
}

TEST(Chains, EncodedImagesStayAsTheyAre) {
  const TemporaryFolder folder;
  const MadeSet made(20, {3, 9, 8}, Stored::uint8);
  write(made, folder.file("first.txt"), as(Format::images));
  const auto first = open_set(folder.file("first.txt"));
  std::string last = folder.file("first.txt");
  for (const Format format : {Format::lmdb, Format::striped, Format::images, Format::hdf5, Format::lmdb}) {
    const std::string next = folder.file(name_of(format, "e" + std::to_string(static_cast<int>(format)) + last.back()));
    SetOptions options = options_for(format);
    options.preparation.decode = false;
    convert_set(last, next, options, {});
    expect_equal(*first, *open_set(next), next);
    last = next;
  }
}

TEST(Chains, EncodedImagesAreResized) {
  const TemporaryFolder folder;
  const MadeSet made(7, {3, 9, 8}, Stored::uint8);
  write(made, folder.file("first.txt"), as(Format::images));
  SetOptions options = options_for(Format::lmdb);
  options.preparation.size = {5, 4};
  convert_set(folder.file("first.txt"), folder.file("decoded"), options, {});
  options.preparation.decode = false;
  convert_set(folder.file("first.txt"), folder.file("encoded"), options, {});
  const auto encoded = open_set(folder.file("encoded"));
  EXPECT_EQ(encoded->fields()[0].stored, Stored::encoded);
  EXPECT_EQ(encoded->fields()[0].sample_shape, (Shape{3, 5, 4}));
  convert_set(folder.file("encoded"), folder.file("again"), options_for(Format::lmdb), {});
  expect_equal(*open_set(folder.file("decoded")), *open_set(folder.file("again")), "PNG loses nothing");
}

TEST(Convert, MeansAreThoseOfTheSamples) {
  const TemporaryFolder folder;
  for (const Stored stored : {Stored::uint8, Stored::float32}) {
    const MadeSet made(2300, {2, 3, 2}, stored);  // three chunks
    const std::string set = folder.file(stored == Stored::uint8 ? "bytes" : "floats"), file = set + "_mean";
    write(made, set, as(Format::lmdb));
    const auto channels = convert_mean(set, file, {}, {});
    caffe::BlobProto mean;
    read_binary(file, mean);
    EXPECT_EQ(shape_of(mean), (Shape{1, 2, 3, 2}));
    const auto values = values_of(mean, file);
    std::vector<double> expected(12);
    for (i64 i = 0; i < 2300; ++i)
      for (i64 e = 0; e < 12; ++e) {
        const double byte = MadeSet::value(i, e);
        expected[static_cast<std::size_t>(e)] += (stored == Stored::uint8 ? byte : byte / 8 - 3) / 2300;
      }
    for (std::size_t e = 0; e < 12; ++e) EXPECT_NEAR(double{values[e]}, expected[e], 1e-4);
    ASSERT_EQ(channels.size(), 2u);
    EXPECT_NEAR(double{channels[1]}, std::accumulate(expected.begin() + 6, expected.end(), 0.0) / 6, 1e-4);
  }
  write(MadeSet(5, {4}, Stored::float32), folder.file("rows.h5"));
  EXPECT_THROW(convert_mean(folder.file("rows.h5"), folder.file("m"), {}, {}), ConfigError);
  std::vector<float> values(2000 * 4, 1);
  values[1234 * 4 + 3] = std::numeric_limits<float>::quiet_NaN();
  write_hdf5(folder.file("nan.h5"), {{"data", {2000, 1, 2, 2}, H5T_IEEE_F32LE, values},
                                     {"label", {2000}, H5T_IEEE_F32LE, std::vector<float>(2000)}});
  try {
    convert_mean(folder.file("nan.h5"), folder.file("m"), {}, {});
    ADD_FAILURE() << "a mean of NaN";
  } catch (const NumericError& error) {
    EXPECT_NE(std::string(error.what()).find("nan.h5, sample 1234: holds NaN"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(exists(folder.file("m")));
}

TEST(Chains, ShufflingReordersOnce) {
  const TemporaryFolder folder;
  const MadeSet made(50, {1, 2, 2}, Stored::uint8);
  write(made, folder.file("a.h5"));
  SetOptions options = options_for(Format::striped);
  options.preparation.shuffle = true;
  convert_set(folder.file("a.h5"), folder.file("b.h5"), options, {});
  auto labels = read_all(*open_set(folder.file("b.h5")))[1].bytes, sorted = read_all(made)[1].bytes;
  EXPECT_NE(labels, sorted);
  const auto order = [](Bytes& bytes) {
    auto* const begin = reinterpret_cast<float*>(bytes.data());
    std::sort(begin, begin + bytes.size() / 4);
  };
  order(labels);
  order(sorted);
  EXPECT_EQ(labels, sorted);
}

TEST(Lmdb, DamageIsNamed) {
  const TemporaryFolder folder;
  const MadeSet made(2000, {3, 8, 8}, Stored::uint8);
  write(made, folder.file("l"), as(Format::lmdb));
  const std::string file = folder.file("l/data.mdb");
  fs::resize_file(file, fs::file_size(file) / 2);
  expect_says(message_of([&] { open_set(folder.file("l")); }), "is truncated");
  std::ofstream(file, std::ios::trunc) << "no LMDB at all";
  expect_says(message_of([&] { open_set(folder.file("l")); }), folder.file("l"));
}

/// On a shared file system every rank opens the folder, which it may only read: nothing is written there, locks
/// neither.
TEST(Lmdb, ManyReadAFolderThatNobodyMayWriteTo) {
  const TemporaryFolder folder;
  const MadeSet made(300, {3, 4, 4}, Stored::uint8);
  write(made, folder.file("l"), as(Format::lmdb));
  const auto writable = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
  fs::permissions(folder.file("l/data.mdb"), writable, fs::perm_options::remove);
  fs::permissions(folder.file("l"), writable, fs::perm_options::remove);
  std::vector<std::unique_ptr<DataSet>> open;
  for (int i = 0; i < 200; ++i) open.push_back(open_set(folder.file("l")));  // LMDB's lock has room for 126
  for (const auto& set : open) expect_equal(made, *set, "read only");
  EXPECT_FALSE(fs::exists(folder.file("l/lock.mdb")));
  fs::permissions(folder.file("l"), writable, fs::perm_options::add);
}

TEST(Sets, WhatCannotBeReadIsNamed) {
  const TemporaryFolder folder;
  expect_says(message_of([&] { open_set(folder.file("absent")); }), "is not there");
  expect_says(message_of([&] { open_set(folder.write("empty", "")); }), "is empty");
  expect_says(message_of([&] { open_set(folder.write("short.bin", "12345")); }), "no multiple of a record");
  expect_says(message_of([&] { open_set(folder.write("l.txt", "a.png\n")); }), "without a label");
  for (const char* label : {"16777217", "-16777217", "99999999999999999999"})
    expect_says(message_of([&] { open_set(folder.write("l.txt", std::string("a.png ") + label + "\n")); }),
                "l.txt:1: has a label beyond 16777216");
  expect_says(message_of([&] { open_set(folder.write("l.txt", "a 20261128164500 1\n")); }), "a 20261128164500");
  expect_says(message_of([&] { open_set(folder.write("m.txt", "a.png 1\n")); }), "a.png");
  // An image's name may have blanks, and the first lines may be empty: it is no list of HDF5 files.
  const std::string blanks = message_of([&] { open_set(folder.write("b.txt", "\n \nmy holiday .png 1\n")); });
  expect_says(blanks, "my holiday .png");
  EXPECT_EQ(blanks.find("HDF5"), std::string::npos) << blanks;
  const std::string binary(100, '\x01'), long_name(100000, 'x');
  expect_says(message_of([&] { open_set(folder.write("b", binary)); }),
              "b: is none of the files that are read as data");
  expect_says(message_of([&] { ImageSet set(folder.write("b", binary), {}); }), "b: is no text (it should list images");
  expect_says(message_of([&] { Hdf5Set set(folder.write("b", binary), {}); }), "b: is no text and no HDF5 file");
  for (const char* const ending : {"\n", ".png 1\n"}) {
    const std::string said = message_of([&] { open_set(folder.write("n", long_name + ending)); });
    EXPECT_LT(said.size(), 1000U) << "a long name is cut";
    expect_says(said, "n line 1: names 'xxx");
  }
  for (const char* const list : {"b.txt", "b"}) {
    const std::string utf16 = folder.write(list, std::string("\xFF\xFEn\0 \0001\0\n\0", 10));
    expect_says(message_of([&] { open_set(utf16); }), "is a text in UTF-16 (save it in UTF-8)");
    expect_says(message_of([&] { ImageSet set(utf16, {}); }), "is a text in UTF-16");
  }
  fs::create_directory(folder.file("nothing"));
  expect_says(message_of([&] { open_set(folder.file("nothing")); }), "has no images");
  fs::create_directory(folder.file("leveldb"));
  folder.write("leveldb/CURRENT", "");
  expect_says(message_of([&] { open_set(folder.file("leveldb")); }), "LevelDB");
}

/// The real MNIST and CIFAR-10, through all formats that hold them.
TEST(Chains, RealSets) {
  const char* data = std::getenv("CORTADO_DATA");
  if (data == nullptr) GTEST_SKIP() << "not run: CORTADO_DATA names no folder with mnist/ and cifar10/";
  const auto options = [](Format format) {
    SetOptions made;
    made.write = as(format, 8, 1 << 20);
    return made;
  };
  const TemporaryFolder folder;
  const std::string mnist = std::string(data) + "/mnist/t10k-images-idx3-ubyte.gz";
  const IdxSet first(mnist);
  std::string last = mnist;
  for (const Format format : {Format::striped, Format::lmdb, Format::images, Format::hdf5, Format::idx}) {
    const std::string next = folder.file(name_of(format, "mnist_" + std::to_string(static_cast<int>(format))));
    convert_set(last, next, options(format), {});
    expect_equal(first, PreparedSet(open_set(next), {}), next);
    last = next;
  }
  const std::string unpack =
      "tar -xzf '" + std::string(data) + "/cifar10/cifar10-jpeg.tar.gz' -C '" + folder.path().string() + "' test";
  ASSERT_EQ(std::system(unpack.c_str()), 0);
  convert_set(folder.file("test"), folder.file("cifar.bin"), options(Format::cifar), {});
  const CifarSet decoded(folder.file("cifar.bin"));
  EXPECT_EQ(decoded.samples(), 10000);
  last = folder.file("cifar.bin");
  for (const Format format : {Format::lmdb, Format::striped, Format::images, Format::cifar}) {
    const std::string next = folder.file(name_of(format, "cifar_" + std::to_string(static_cast<int>(format))));
    convert_set(last, next, options(format), {});
    expect_equal(decoded, PreparedSet(open_set(next), {}), next);
    last = next;
  }
}

}  // namespace
}  // namespace cortado::test::chains_test
