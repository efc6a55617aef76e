// LMDBs whose pages lie, or whose file shrinks while it is read.
#include <gtest/gtest.h>
#include <lmdb.h>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "parallel_io/sets/lmdb_set.h"
#include "tests/parallel_io/sets_rig.h"

namespace cortado::lmdb_test {
namespace {
using namespace test;
namespace fs = std::filesystem;

std::string bytes_of_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Reads all, as training does.
void read_whole(const std::string& path) { read_all(*open_set(path)); }

/// "no error", or an Error's text; other exceptions and signals fail the test.
std::string answer_of(const std::string& path) {
  try {
    read_whole(path);
  } catch (const Error& error) { return error.what(); }
  return "no error";
}

/// An LMDB as other programs leave it: keys of any length, small and large values, some deleted, several transactions.
void write_as_others_do(const std::string& folder, std::vector<std::pair<std::string, std::string>>& kept) {
  fs::create_directory(folder);
  MDB_env* environment = nullptr;
  mdb_env_create(&environment);
  mdb_env_set_mapsize(environment, 1 << 28);
  ASSERT_EQ(mdb_env_open(environment, folder.c_str(), MDB_NOSYNC, 0664), 0);
  std::map<std::string, std::string> all;
  for (int round = 0; round < 6; ++round) {
    MDB_txn* transaction = nullptr;
    MDB_dbi table = 0;
    mdb_txn_begin(environment, nullptr, 0, &transaction);
    mdb_dbi_open(transaction, nullptr, 0, &table);
    for (int i = 0; i < 700; ++i) {
      const auto draw = random_bits(5, static_cast<std::uint64_t>(round * 700 + i));
      std::string name = std::string(draw % 300, 'k') + std::to_string(draw % 5000);
      if (draw % 3 == 0 && !all.empty()) {
        name = all.begin()->first;
        MDB_val key{name.size(), name.data()};
        ASSERT_EQ(mdb_del(transaction, table, &key, nullptr), 0);
        all.erase(name);
        continue;
      }
      caffe::Datum datum;
      datum.set_channels(1), datum.set_height(1),
          datum.set_width(static_cast<int>(1 + draw % (i % 9 == 0 ? 20000 : 90)));
      datum.set_data(std::string(static_cast<std::size_t>(datum.width()), static_cast<char>(draw >> 20)));
      datum.set_label(static_cast<int>(draw % 10));
      std::string bytes = datum.SerializeAsString();
      MDB_val key{name.size(), name.data()}, value{bytes.size(), bytes.data()};
      ASSERT_EQ(mdb_put(transaction, table, &key, &value, 0), 0);
      all[name] = bytes;
    }
    ASSERT_EQ(mdb_txn_commit(transaction), 0);
  }
  mdb_env_close(environment);
  kept.assign(all.begin(), all.end());
}

TEST(LmdbFile, ReadsWhatTheLibraryWrote) {
  const TemporaryFolder folder;
  std::vector<std::pair<std::string, std::string>> kept;
  write_as_others_do(folder.file("l"), kept);
  const LmdbFile file(folder.file("l/data.mdb"));
  ASSERT_EQ(file.entries(), static_cast<i64>(kept.size()));
  LmdbFile::Cursor cursor(file);
  const auto expect_entry = [&](i64 i) {
    cursor.go(i);
    const auto& [key, bytes] = kept[static_cast<std::size_t>(i)];
    ASSERT_EQ(cursor.key(), key);
    const auto value = cursor.value();
    ASSERT_EQ(std::string(reinterpret_cast<const char*>(value.data), value.bytes), bytes);
  };
  for (i64 i = 0; i < file.entries(); ++i) expect_entry(i);
  for (i64 i = 0; i < 2000; ++i)
    expect_entry(static_cast<i64>(random_bits(9, static_cast<std::uint64_t>(i)) % kept.size()));
}

TEST(LmdbFile, AFileWithoutAFolderIsRead) {
  const TemporaryFolder folder;
  const MadeSet made(100, {3, 4, 4}, Stored::uint8);
  write(made, folder.file("l"), as(Format::lmdb));
  expect_equal(made, *open_set(folder.file("l/data.mdb")), "the file by its name");
}

TEST(LmdbFile, ShrinkingWhileItIsReadIsAnError) {
  const TemporaryFolder folder;
  for (const Shape& shape : {Shape{1, 4, 4}, Shape{3, 40, 40}}) {
    const std::string name = folder.file("l" + std::to_string(shape[0]));
    write(MadeSet(500, shape, Stored::uint8), name, as(Format::lmdb));
    const auto set = open_set(name);
    read_all(*set);
    fs::resize_file(name + "/data.mdb", 3 * 4096);
    const std::string said = message_of([&] { read_all(*set); });
    expect_says(said, name + "/data.mdb: ends at page");
    expect_says(said, "shorter since it was opened");
    fs::resize_file(name + "/data.mdb", 0);
    expect_says(message_of([&] { read_all(*set); }), "ends at page");
  }
}

TEST(LmdbFile, EveryCutIsAnswered) {
  const TemporaryFolder folder;
  write(MadeSet(300, {1, 8, 8}, Stored::uint8), folder.file("l"), as(Format::lmdb));
  const std::string whole = bytes_of_file(folder.file("l/data.mdb"));
  for (std::size_t size = 0; size < whole.size(); size += 1371)
    expect_says(answer_of(folder.write("cut", whole.substr(0, size))), folder.file("cut") + ": is ");
}

/// Most numbers of all pages, replaced by such as are often wrong.
TEST(LmdbFile, EveryDamageIsAnswered) {
  const TemporaryFolder folder;
  write(MadeSet(40, {1, 30, 30}, Stored::uint8), folder.file("small"), as(Format::lmdb));
  write(MadeSet(4, {3, 40, 40}, Stored::uint8), folder.file("large"), as(Format::lmdb));
  for (const char* name : {"small/data.mdb", "large/data.mdb"}) {
    const std::string whole = bytes_of_file(folder.file(name));
    for (std::size_t at = 0; at + 8 < whole.size(); at += at % 4096 < 160 ? 6 : 509)
      for (const std::uint64_t value : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{0x8000}, std::uint64_t{3}}) {
        std::string damaged = whole;
        std::memcpy(damaged.data() + at, &value, at % 8 == 0 ? 8 : 2);
        answer_of(folder.write("damaged", damaged));
      }
  }
}

TEST(LmdbFile, ImpossibleTreesAreNamed) {
  const TemporaryFolder folder;
  write(MadeSet(3000, {1, 8, 8}, Stored::uint8), folder.file("l"), as(Format::lmdb));
  const std::string whole = bytes_of_file(folder.file("l/data.mdb"));
  const auto with = [&](std::size_t at, std::uint64_t value, std::size_t bytes) {
    std::string damaged = whole;
    for (const std::size_t page : {std::size_t{0}, std::size_t{4096}})
      std::memcpy(damaged.data() + page + at, &value, bytes);
    return folder.write("damaged", damaged);
  };
  expect_says(answer_of(with(40, 0, 4)), "pages of 0 bytes");
  expect_says(answer_of(with(40, 4095, 4)), "pages of 4095 bytes");
  expect_says(answer_of(with(94, 40000, 2)), "40000 pages deep");
  expect_says(answer_of(with(120, ~std::uint64_t{0} >> 1, 8)), "entries");
  expect_says(answer_of(with(128, 999999, 8)), "page 999999 is named");
  // A branch whose children are all the first one's: many ways to one leaf.
  std::string damaged = whole;
  std::uint64_t root = 0;
  for (const std::size_t page : {std::size_t{0}, std::size_t{4096}})
    if (std::uint64_t transaction = 0; std::memcpy(&transaction, whole.data() + page + 144, 8), transaction > 1)
      std::memcpy(&root, whole.data() + page + 128, 8);
  char* const branch = damaged.data() + root * 4096;
  std::uint16_t lower = 0, first = 0;
  std::memcpy(&lower, branch + 12, 2);
  std::memcpy(&first, branch + 16, 2);
  for (int i = 1; i < (lower - 16) / 2; ++i) std::memcpy(branch + 16 + 2 * i, &first, 2);
  EXPECT_NE(answer_of(folder.write("damaged", damaged)), "no error");
}

}  // namespace
}  // namespace cortado::lmdb_test
