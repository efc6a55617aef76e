#include <gtest/gtest.h>
#include <zlib.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/formats/caffe.pb.h"
#include "parallel_io/convert/convert.h"
#include "parallel_io/convert/digits.h"
#include "parallel_io/sets/byte_sets.h"
#include "parallel_io/sets/datum.h"
#include "parallel_io/sets/hdf5_set.h"
#include "parallel_io/sets/idx.h"
#include "parallel_io/sets/list_file.h"
#include "tests/parallel_io/sets_rig.h"
#include "tests/support/hdf5_file.h"

namespace cortado::test::data_sets_test {
namespace {

/// Samples 100 f + i in file f, each two values and a label.
void write_file(const std::string& name, int file, i64 samples) {
  std::vector<float> values, labels;
  for (i64 i = 0; i < samples; ++i) {
    values.push_back(static_cast<float>(100 * file + i));
    values.push_back(-values.back());
    labels.push_back(static_cast<float>(i));
  }
  write_hdf5(name, {{"data", {samples, 2}, H5T_IEEE_F32LE, values}, {"label", {samples}, H5T_STD_U8LE, labels}});
}

std::vector<float> floats_of(const Values& values) {
  std::vector<float> floats(values.bytes.size() / sizeof(float));
  std::memcpy(floats.data(), values.bytes.data(), values.bytes.size());
  return floats;
}

OpenOptions with_cache(i64 bytes) {
  OpenOptions options;
  options.cache_bytes = bytes;
  return options;
}

TEST(Hdf5Set, ReadsAnySamplesAcrossFilesCachedOrNot) {
  const TemporaryFolder folder;
  write_file(folder.file("a.h5"), 1, 3);
  write_file(folder.file("b.h5"), 2, 1);
  write_file(folder.file("c.h5"), 3, 4);
  const auto list = folder.write("list.txt", "a.h5\nb.h5\r\n\nc.h5\n");
  for (const i64 cache : {i64{0}, i64{1} << 20}) {
    const Hdf5Set source(list, with_cache(cache));
    ASSERT_EQ(source.samples(), 8);
    const std::vector<i64> wanted = {2, 3, 4, 5, 0, 7, 7};
    std::vector<Values> values;
    source.read(wanted.data(), 7, values);
    const std::vector<float> data = floats_of(values[0]);
    ASSERT_EQ(data.size(), 14u);
    ASSERT_EQ(source.fields()[1].stored, Stored::uint8);
    EXPECT_EQ(values[1].bytes, (Bytes{2, 0, 0, 1, 0, 3, 3}));
    for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(data[2 * i], -data[2 * i + 1]);
    EXPECT_EQ(data[0], 102);
    EXPECT_EQ(data[2], 200);
    EXPECT_EQ(data[4], 300);
    EXPECT_EQ(data[12], 303);
  }
}

/// A chunked and compressed array of doubles, as other programs write them.
TEST(Hdf5Set, ReadsThroughTheLibraryWhatHasNoPlainPlace) {
  const TemporaryFolder folder;
  const std::string name = folder.file("a.h5");
  {
    const hdf5::Handle file(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const hdf5::Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const hsize_t chunk[] = {2, 3}, dims[] = {5, 3};
    H5Pset_chunk(list.get(), 2, chunk);
    H5Pset_deflate(list.get(), 4);
    const hdf5::Handle space(H5Screate_simple(2, dims, nullptr), H5Sclose);
    const hdf5::Handle set(
        H5Dcreate2(file.get(), "data", H5T_NATIVE_DOUBLE, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT), H5Dclose);
    std::vector<double> values(15);
    for (std::size_t i = 0; i < 15; ++i) values[i] = static_cast<double>(i);
    ASSERT_GE(H5Dwrite(set.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  }
  for (const i64 cache : {i64{0}, i64{1} << 20}) {
    OpenOptions options = with_cache(cache);
    options.fields = {"data"};
    const Hdf5Set source(name, options);
    const std::vector<i64> wanted = {4, 1, 2, 2};
    std::vector<Values> values;
    source.read(wanted.data(), 4, values);
    EXPECT_EQ(floats_of(values[0]), (std::vector<float>{12, 13, 14, 3, 4, 5, 6, 7, 8, 6, 7, 8}));
  }
}

/// More chunks than one reading may touch: what was never written is the fill value, three values are.
TEST(Hdf5Set, ReadsManySmallChunks) {
  const TemporaryFolder folder;
  const std::string name = folder.file("a.h5");
  const std::vector<std::vector<hsize_t>> written = {{0, 1, 16999}, {1, 0, 8500}, {2, 1, 0}};
  const hsize_t dims[] = {3, 2, 17000}, chunk[] = {2, 1, 1}, one[] = {1, 1, 1};
  {
    const hdf5::Handle file(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const hdf5::Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const float fill = 7;
    H5Pset_chunk(list.get(), 3, chunk);
    H5Pset_fill_value(list.get(), H5T_NATIVE_FLOAT, &fill);
    const hdf5::Handle space(H5Screate_simple(3, dims, nullptr), H5Sclose), value(H5Screate(H5S_SCALAR), H5Sclose);
    const hdf5::Handle set(
        H5Dcreate2(file.get(), "data", H5T_IEEE_F32LE, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT), H5Dclose);
    for (const auto& at : written) {
      const float more = 8 + static_cast<float>(at[0]);
      H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, at.data(), nullptr, one, nullptr);
      ASSERT_GE(H5Dwrite(set.get(), H5T_NATIVE_FLOAT, value.get(), space.get(), H5P_DEFAULT, &more), 0);
    }
  }
  std::vector<float> expected(3 * 2 * 17000, 7), actual(expected.size());
  for (const auto& at : written) expected[(at[0] * 2 + at[1]) * 17000 + at[2]] = 8 + static_cast<float>(at[0]);
  const hdf5::File file(name);
  const hdf5::Array array(file, "data");
  array.read(0, 3, actual.data());
  EXPECT_EQ(actual, expected);
  array.read(2, 1, actual.data());
  EXPECT_TRUE(std::equal(expected.begin() + 68000, expected.end(), actual.begin()));
}

TEST(Hdf5Set, MistakesNameTheFile) {
  const TemporaryFolder folder;
  write_file(folder.file("a.h5"), 1, 3);
  const auto open = [](const std::string& list, const std::vector<std::string>& fields) {
    OpenOptions options;
    options.fields = fields;
    return message_of([&] { Hdf5Set(list, options); });
  };
  expect_says(open(folder.file("absent.txt"), {"data"}), "absent.txt");
  expect_says(open(folder.write("empty.txt", "\n"), {"data"}), "lists no files");
  expect_says(open(folder.write("gone.txt", "gone.h5\n"), {"data"}), "gone.h5");
  expect_says(open(folder.write("list.txt", "a.h5\n"), {"image"}), "it has: data, label");
  folder.write("text.h5", "this is no HDF5 file");
  expect_says(open(folder.write("text.txt", "text.h5\n"), {"data"}), "text.h5");
  std::filesystem::copy_file(folder.file("a.h5"), folder.file("cut.h5"));
  std::filesystem::resize_file(folder.file("cut.h5"), 700);
  expect_says(open(folder.write("cut.txt", "cut.h5\n"), {"data"}), "cut.h5");
}

std::vector<std::uint8_t> first_of(const IdxFile& file, i64 count) {
  std::vector<std::uint8_t> values(static_cast<std::size_t>(count));
  file.read(0, count, values.data());
  return values;
}

std::string gzipped(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
  const gzFile file = gzopen(folder.file(name).c_str(), "wb");
  EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())), static_cast<int>(bytes.size()));
  gzclose(file);
  return folder.file(name);
}

TEST(Idx, PlainAndGzippedGiveTheSameSamplesInAnyOrder) {
  using namespace std::string_literals;
  const TemporaryFolder folder;
  std::string images = "\0\0\x08\x03\0\0\0\x07\0\0\0\x02\0\0\0\x03"s, labels = "\0\0\x08\x01\0\0\0\x07"s;
  for (char i = 0; i < 7; ++i) images += std::string(6, i), labels += static_cast<char>(10 + i);
  gzipped(folder, "packed-images-idx3-ubyte", images);
  gzipped(folder, "packed-labels-idx1-ubyte", labels);
  folder.write("plain-images-idx3-ubyte", images);
  folder.write("plain-labels-idx1-ubyte", labels);
  for (const char* name : {"packed", "plain"}) {
    const IdxSet set(folder.file(name + "-images-idx3-ubyte"s));
    const std::vector<i64> wanted = {6, 2, 3, 4, 4, 0};
    std::vector<Values> values;
    set.read(wanted.data(), 6, values);
    ASSERT_EQ(values[0].bytes.size(), 36u);
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(values[0].bytes[6 * i], wanted[i]) << name;
      EXPECT_EQ(values[0].bytes[6 * i + 5], wanted[i]) << name;
      EXPECT_EQ(floats_of(values[1])[i], static_cast<float>(10 + wanted[i])) << name;
    }
  }
}

TEST(ListFile, AnyLineOfManyIsFound) {
  const TemporaryFolder folder;
  std::string text = "\n\r\n";
  std::vector<ListFile::Line> due;
  i64 number = 3;
  for (int i = 0; i < 1500; ++i, ++number) {
    const std::string line = std::to_string(i) + std::string(i % 97 == 5 ? 40000 : 3, 'x');
    due.push_back({line, number});
    text += line + (i % 3 == 0 ? " \t\r\n" : "\n");
    if (i % 10 == 0) text += "  \n", ++number;
  }
  text.pop_back();  // the last line need not end
  std::size_t seen = 0;
  const ListFile list(RawFile(folder.write("list", text)), [&](const ListFile::Line& line) {
    EXPECT_EQ(line.text, due[seen].text);
    EXPECT_EQ(line.number, due[seen++].number);
  });
  ASSERT_EQ(list.lines(), 1500);
  EXPECT_EQ(seen, 1500u);
  for (i64 i = 1499; i >= 0; i -= 7) {
    EXPECT_EQ(list.line(i).text, due[static_cast<std::size_t>(i)].text);
    EXPECT_EQ(list.line(i).number, due[static_cast<std::size_t>(i)].number);
  }
  EXPECT_EQ(ListFile(RawFile(folder.write("empty", " \n\n")), [](const ListFile::Line&) {}).lines(), 0);
}

TEST(ListFile, WhatIsWrittenIsRead) {
  ListWriter writer("test");
  for (int i = 0; i < 300000; ++i) writer.add("line " + std::to_string(i));
  const ListFile list(std::move(writer).finish(), [](const ListFile::Line&) {});
  ASSERT_EQ(list.lines(), 300000);
  for (const i64 i : {0, 255, 256, 123456, 299999}) EXPECT_EQ(list.line(i).text, "line " + std::to_string(i));
}

TEST(Idx, IsReadAndTruncationFound) {
  const TemporaryFolder folder;
  const std::string dimensions("\0\0\x8\x3\0\0\0\x2\0\0\0\x3\0\0\0\x4", 16);
  const IdxFile array(folder.write("a", dimensions + std::string(24, '\7')));
  EXPECT_EQ(array.shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(first_of(array, 24), std::vector<std::uint8_t>(24, 7));
  std::filesystem::resize_file(folder.file("a"), 30);
  expect_says(message_of([&] { IdxFile(folder.file("a")); }), "ends too early");
  expect_says(message_of([&] { IdxFile(folder.write("b", "not an IDX file at all")); }), "is not an IDX file");
}

TEST(Idx, WhatTheFileCannotHoldIsRefused) {
  using namespace std::string_literals;
  const TemporaryFolder folder;
  for (const auto& header : {"\0\0\x08\x01\0\0\0\x06"s, "\0\0\x08\x03\0\0\0\x08\x7f\xff\xff\xff\0\0\x80\0"s,
                             "\0\0\x08\x04\x80\0\0\0\x80\0\0\0\x80\0\0\0\0\0\0\x04"s})
    expect_says(message_of([&] { IdxFile(folder.write("i", header + "12345")); }), "ends too early");
  const IdxFile whole(folder.write("i",
                                   "\0\0\x08\x01\0\0\0\x05"
                                   "12345"s));
  EXPECT_EQ(whole.shape(), (Shape{5}));
}

TEST(Datum, ShapeAndValuesMustBelongTogether) {
  const Where where = [] { return std::string("here"); };
  caffe::Datum datum;
  expect_says(message_of([&] { field_of(datum, where, 0); }), "without values");
  datum.set_data("abcdef");
  const auto complaint = [&](int channels, int height, int width) {
    datum.set_channels(channels);
    datum.set_height(height);
    datum.set_width(width);
    return message_of([&] { field_of(datum, where, 0); });
  };
  EXPECT_EQ(complaint(1, 2, 3), "no error");
  expect_says(complaint(3, 1 << 15, 1 << 15), "6 values for the shape 3 32768 32768");
  expect_says(complaint(INT_MAX, INT_MAX, INT_MAX), "(too many)");
  expect_says(complaint(-1, -2, 3), "6 values");
  datum.clear_data();
  for (int i = 0; i < 6; ++i) datum.add_float_data(1);
  EXPECT_EQ(complaint(3, 2, 1), "no error");
  expect_says(complaint(INT_MAX, INT_MAX, INT_MAX), "(too many)");
}

TEST(Digits, AreReproducibleAndDiffer) {
  EXPECT_EQ(draw_digit(1, 17).values, draw_digit(1, 17).values);
  EXPECT_NE(draw_digit(1, 17).values, draw_digit(2, 17).values);
  EXPECT_NE(draw_digit(1, 17).values, draw_digit(1, 27).values);
}

TEST(Convert, DigitsToHdf5AndByIdxAreTheSame) {
  const TemporaryFolder folder;
  DigitOptions digits;
  digits.train = 30, digits.test = 10;
  FolderOptions direct, idx, through;
  direct.to = folder.file("direct"), idx.to = folder.file("idx"), through.to = folder.file("through");
  convert_digits(digits, direct, {});
  digits.idx = true;
  convert_digits(digits, idx, {});
  convert_mnist(idx.to, through, {});
  for (const char* split : {"train", "test"}) {
    std::vector<std::vector<float>> read;
    for (const auto& to : {direct.to, through.to}) {
      const Hdf5Set source(to + "/" + split + ".txt", {});
      EXPECT_EQ(source.fields()[0].sample_shape, (Shape{1, 28, 28}));
      std::vector<i64> all(static_cast<std::size_t>(source.samples()));
      std::iota(all.begin(), all.end(), i64{0});
      std::vector<Values> values;
      source.read(all.data(), source.samples(), values);
      read.push_back(floats_of(values[0]));
      EXPECT_EQ(floats_of(values[1])[3], 3);
    }
    EXPECT_EQ(read[0], read[1]);
    EXPECT_EQ(read[0].size(), (split == std::string("train") ? 30u : 10u) * 784u);
  }
}

std::string why_refused(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) { return error.what(); }
  return "";
}

/// A second run changes nothing; one that was killed between two sets goes on.
TEST(Convert, FoldersKeepWhatIsThere) {
  const TemporaryFolder folder;
  DigitOptions digits;
  digits.train = 20, digits.test = 10;
  FolderOptions to;
  to.to = folder.file("to");
  convert_digits(digits, to, {});
  const std::string train = to.to + "/train.h5", test = to.to + "/test.h5", first = read_file(train);
  EXPECT_NE(why_refused([&] { convert_digits(digits, to, {}); }).find("has all sets of this conversion already"),
            std::string::npos);
  digits.seed = 2;
  EXPECT_EQ(why_refused([&] { convert_digits(digits, to, {}); }).find(train + ": is there already"), 0U);
  digits.seed = 1, digits.train = 10;  // the test set is another one, though its number and seed are the same
  EXPECT_EQ(why_refused([&] { convert_digits(digits, to, {}); }).find(train + ": is there already"), 0U);
  EXPECT_EQ(read_file(train), first);
  digits.train = 20;
  std::filesystem::remove(test);
  convert_digits(digits, to, {});
  EXPECT_TRUE(exists(test));
  EXPECT_EQ(read_file(train), first);
}

TEST(Convert, RealMnist) {
  const char* data = std::getenv("CORTADO_DATA");
  if (data == nullptr) GTEST_SKIP() << "not run: CORTADO_DATA names no folder with mnist/";
  const IdxFile images(std::string(data) + "/mnist/t10k-images-idx3-ubyte.gz");
  EXPECT_EQ(images.shape(), (Shape{10000, 28, 28}));
  const IdxFile labels(std::string(data) + "/mnist/t10k-labels-idx1-ubyte.gz");
  EXPECT_EQ(first_of(labels, 5), (std::vector<std::uint8_t>{7, 2, 1, 0, 4}));
}

TEST(Images, WhatIsNoImageIsNamed) {
  const TemporaryFolder folder;
  expect_says(message_of([&] { read_image(folder.write("a.jpg", "hello")); }), "neither a JPEG nor a PNG");
  expect_says(message_of([&] { read_image(folder.write("b.jpg", "\xFF\xD8\xFF broken")); }), "b.jpg");
}

TEST(Images, ResizeKeepsConstantsAndIdentity) {
  const Image image{1, 2, 3, {9, 9, 9, 9, 9, 9}};
  EXPECT_EQ(resize(image, {2, 3}).values, image.values);
  EXPECT_EQ(resize(image, {5, 7}).values, std::vector<std::uint8_t>(35, 9));
}

}  // namespace
}  // namespace cortado::test::data_sets_test
