// What is opened, and how: nothing that could wait, no link that is written through, one clear reason.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <functional>
#include <vector>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/files.h"
#include "core/formats/prototxt.h"
#include "core/formats/weight_files.h"
#include "parallel_io/sets/data_set.h"
#include "parallel_io/weights/hdf5_weights.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"

namespace cortado::file_test {
namespace {
namespace fs = std::filesystem;
using test::message_of;

std::size_t entries_of(const test::TemporaryFolder& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder.path()), {}));
}

/// Every way in which the program reads a file that the user names.
std::vector<std::function<void(const std::string&)>> readers() {
  static const Hdf5Weights hdf5;
  return {[](const std::string& file) { read_file(file); },
          [](const std::string& file) { FileStream stream(file); },
          [](const std::string& file) { looks_like_text(file); },
          [](const std::string& file) {
            caffe::NetParameter net;
            read_net(file, net);
          },
          [](const std::string& file) {
            caffe::SolverParameter solver;
            read_solver(file, solver);
          },
          [](const std::string& file) {
            caffe::BlobProto mean;
            read_binary(file, mean);
          },
          [](const std::string& file) {
            caffe::NetParameter weights;
            read_weights(file, &hdf5, weights);
          },
          [](const std::string& file) {
            caffe::NetParameter weights;
            hdf5.read_weights(file, weights);
          },
          [](const std::string& file) {
            caffe::SolverState state;
            read_state(file, &hdf5, state);
          },
          [](const std::string& file) { open_set(file); }};
}

TEST(Files, PipesDevicesAndSocketsAreRefusedAtOnce) {
  const test::TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  fs::create_symlink(folder.file("pipe"), folder.file("link"));
  const int one = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  folder.file("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(one, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  for (const auto& read : readers())
    for (const std::string& file : {folder.file("pipe"), folder.file("link"), folder.file("socket"),
                                    std::string("/dev/null"), std::string("/dev/zero")}) {
      const std::string said = message_of([&] { read(file); });
      EXPECT_EQ(said.find(file + ": is no regular file"), 0u) << said;
    }
  ::close(one);
}

TEST(Files, WhatCannotBeReadHasOneClearReason) {
  const test::TemporaryFolder folder;
  fs::create_symlink(folder.file("loop2"), folder.file("loop1"));
  fs::create_symlink(folder.file("loop1"), folder.file("loop2"));
  folder.write("file", "text");
  const std::string name(300, 'n');
  for (const auto& read : readers())
    for (const auto& [file, reason] :
         std::vector<std::pair<std::string, std::string>>{{folder.file("loop1"), "Too many levels of symbolic links"},
                                                          {folder.file(name), "File name too long"},
                                                          {folder.file("file/below"), "Not a directory"},
                                                          {folder.file("absent"), ""}}) {
      const std::string said = message_of([&] { read(file); });
      EXPECT_EQ(said.find(file + ": "), 0u) << said;
      EXPECT_NE(said.find(reason), std::string::npos) << said;
      EXPECT_EQ(said.find("filesystem error"), std::string::npos) << said;
      EXPECT_EQ(said.find("empty"), std::string::npos) << said;
    }
  EXPECT_NE(message_of([&] { read_file(folder.path().string()); }).find("is a folder"), std::string::npos);
  EXPECT_NE(message_of([&] { read_file(folder.file(std::string("file\0x", 6))); }).find("NUL"), std::string::npos);
}

TEST(Files, StreamsAreReadAcrossPieces) {
  const test::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 40000; ++i) text += std::to_string(i) + "\n";
  FileStream stream(folder.write("long", text));
  std::string line;
  for (int i = 0; i < 40000; ++i) ASSERT_TRUE(std::getline(stream, line) && line == std::to_string(i));
  EXPECT_FALSE(std::getline(stream, line));
  EXPECT_EQ(read_file(folder.file("long")), text);
  EXPECT_EQ(first_bytes(folder.file("long"), 4), "0\n1\n");
}

TEST(NewFiles, TouchNothingOfOthers) {
  const test::TemporaryFolder folder;
  folder.write("victim", "precious");
  for (const char* name : {"a", "a.partial", "a.probe", "a.unfinished", "a.new"})
    fs::create_symlink(folder.file("victim"), folder.file(name));
  const std::size_t before = entries_of(folder);
  replace_file_by_name(folder.file("a"), [](const std::string& path) { std::ofstream(path) << "new"; });
  EXPECT_EQ(read_file(folder.file("victim")), "precious");
  EXPECT_EQ(read_file(folder.file("a")), "new");
  EXPECT_FALSE(fs::is_symlink(folder.file("a")));
  EXPECT_EQ(entries_of(folder), before);
}

TEST(NewFiles, AreNotSeenUntilTheyAreWhole) {
  const test::TemporaryFolder folder;
  {
    NewFile dropped(folder.file("dropped"));
    dropped.write("abc", 3);
    EXPECT_LE(entries_of(folder), 1u);  // a name of its own, where the file system needs one
    EXPECT_FALSE(is_taken(folder.file("dropped")));
  }
  EXPECT_EQ(entries_of(folder), 0u);
  NewFile kept(folder.file("kept"));
  kept.write("abc", 3);
  kept.create();
  EXPECT_EQ(read_file(folder.file("kept")), "abc");
  NewFile second(folder.file("kept"));
  EXPECT_NE(message_of([&] { second.create(); }).find("is there already"), std::string::npos);
  EXPECT_EQ(read_file(folder.file("kept")), "abc");
}

TEST(NewFiles, ReplaceNoDeviceAndNoFolder) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder.file("folder"));
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  for (const std::string& file : {folder.file("folder"), folder.file("pipe"), folder.file("absent/x"), std::string(),
                                  folder.file("folder/"), folder.file(std::string(300, 'n'))})
    EXPECT_NE(message_of([&] { NewFile no(file); }), "") << file;
  EXPECT_NE(message_of([&] { write_text(folder.file("pipe"), "text"); }), "");
  write_text("/dev/null", "text");
  EXPECT_EQ(kind_of("/dev/null"), FileKind::other);
}

}  // namespace
}  // namespace cortado::file_test
