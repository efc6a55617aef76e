// What is written in HDF5 when the disk has no room, for which a limit on the size of files stands in.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <optional>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"
#include "parallel_io/feed/sinks.h"
#include "parallel_io/sets/hdf5.h"
#include "parallel_io/weights/hdf5_weights.h"
#include "tests/parallel_io/sets_rig.h"

/// HDF5 loses memory of its own where a file cannot be closed. Of this executable alone, that is no leak.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace cortado::test::full_disk_test {
namespace {

/// While it lives, files of this process end at so many bytes.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }

 private:
  void (*const signal_)(int);
  rlimit before_{};
};

/// One error that says which file and why, nothing printed.
template <class Write>
void expect_one_error(const std::string& file, Write write) {
  testing::internal::CaptureStderr();
  std::string message;
  try {
    write();
  } catch (const FileError& error) { message = error.what(); }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_NE(message.find(file), std::string::npos) << message;
  EXPECT_NE(message.find("File too large"), std::string::npos) << message;
}

std::size_t files_in(const TemporaryFolder& folder) {
  const std::filesystem::directory_iterator begin(folder.path());
  return static_cast<std::size_t>(std::distance(begin, {}));
}

void append_rows(ArraySink& sink, int times) {
  const std::vector<float> data(8000, 1.5f), label(8, 2);
  for (int i = 0; i < times; ++i) sink.append(8, {data.data(), label.data()});
}
const std::vector<SinkOpener::Array> arrays = {{"data", {1000}}, {"label", {1}}};

TEST(FullDisk, SinksSaySoOnce) {
  const TemporaryFolder folder;
  const std::string file = folder.file("out.h5");
  for (const rlim_t limit : {1000, 3000, 100000, 300000}) {
    SCOPED_TRACE(limit);
    expect_one_error(file, [&] {
      const FileLimit full(limit);
      const auto sink = Sinks().open(file, arrays, 0);
      append_rows(*sink, 20);
    });
  }
  append_rows(*Sinks().open(file, arrays, 0), 2);  // and there is room again
  EXPECT_EQ(hdf5::Array(hdf5::File(file), "data").samples(), 16);
}

TEST(FullDisk, WeightsAndStatesSaySoOnce) {
  const TemporaryFolder folder;
  caffe::NetParameter net;
  caffe::SolverState state;
  for (auto* blob : {net.add_layer()->add_blobs(), state.add_history()}) {
    blob->mutable_shape()->add_dim(50000);
    for (int i = 0; i < 50000; ++i) blob->add_data(1);
  }
  net.mutable_layer(0)->set_name("layer");
  const Hdf5Weights weights;
  for (const rlim_t limit : {100, 1500, 100000}) {
    SCOPED_TRACE(limit);
    expect_one_error("w.caffemodel.h5", [&] {
      const FileLimit full(limit);
      weights.write_weights(folder.file("w.caffemodel.h5"), net);
    });
    expect_one_error("s.solverstate.h5", [&] {
      const FileLimit full(limit);
      weights.write_state(folder.file("s.solverstate.h5"), state);
    });
  }
  EXPECT_EQ(files_in(folder), 0u);
}

TEST(FullDisk, ConversionsSaySoOnce) {
  const TemporaryFolder folder;
  const MadeSet set(400, {3, 16, 16}, Stored::uint8);
  const Replicas alone;
  WriteOptions options;
  options.format = Format::striped;
  options.stripes = 2;
  options.stripe_bytes = 1 << 14;
  for (const rlim_t limit : {500, 5000, 200000}) {
    SCOPED_TRACE(limit);
    const std::string to = "set" + std::to_string(limit) + ".h5";
    expect_one_error(to, [&] {
      const FileLimit full(limit);
      write_set(set, *make_writer(set, folder.file(to), options, alone), alone, {});
    });
  }
  // The stripes are written, the master is not.
  std::optional<FileLimit> full;
  expect_one_error("last.h5", [&] {
    const auto limit = [&](i64 done, i64 total) {
      if (done == total) full.emplace(1000);
    };
    write_set(set, *make_writer(set, folder.file("last.h5"), options, alone), alone, limit);
  });
  full.reset();
  EXPECT_FALSE(exists(folder.file("last.h5")));
  write_set(set, *make_writer(set, folder.file("last.h5"), options, alone), alone, {});
  EXPECT_EQ(open_set(folder.file("last.h5"))->samples(), 400);
}

TEST(FullDisk, TheDebugLogHasTheStack) {
  const TemporaryFolder folder;
  testing::internal::CaptureStderr();
  setenv("GLOG_v", "1", 1);
  open_log(false);
  EXPECT_THROW(hdf5::File(folder.write("x.h5", "no HDF5")), FileError);
  unsetenv("GLOG_v");
  open_log(false);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("HDF5's errors, the innermost first:\n  #0 "), std::string::npos) << log;
  EXPECT_EQ(log.find("HDF5-DIAG"), std::string::npos) << log;
}

TEST(Sinks, LeaveWhatALinkLeadsTo) {
  const TemporaryFolder folder;
  const std::string victim = folder.write("victim", "mine"), link = folder.file("out.h5");
  std::filesystem::create_symlink(victim, link);
  append_rows(*Sinks().open(link, arrays, 0), 1);
  EXPECT_EQ(read_file(victim), "mine");
  EXPECT_FALSE(std::filesystem::is_symlink(link));
  const std::string other = folder.file("other.h5");
  std::filesystem::create_symlink(link, other);
  EXPECT_THROW(Sinks().open(other, arrays, 8), FileError);  // goes on in files of its own alone
  std::filesystem::create_symlink("nowhere", folder.file("dangling.h5"));
  append_rows(*Sinks().open(folder.file("dangling.h5"), arrays, 0), 1);
  EXPECT_FALSE(exists(folder.file("nowhere")));
}

TEST(Sinks, RefuseTheNamesOfWhatTheRunReads) {
  const TemporaryFolder folder;
  const std::string set = folder.file("set.h5"), link = folder.file("link.h5"), other = folder.file("other.h5");
  append_rows(*Sinks().open(set, arrays, 0), 1);
  std::filesystem::rename(set, folder.file("moved.h5"));  // a file that no sink has begun
  std::filesystem::create_symlink("moved.h5", link);
  std::filesystem::create_symlink(link, other);
  hdf5::Array(hdf5::File(other), "data");
  for (const auto& name : {other, link, folder.file("moved.h5"), folder.file("./moved.h5")})
    EXPECT_THROW(Sinks().open(name, arrays, 0), FileError) << name;
  EXPECT_EQ(hdf5::Array(hdf5::File(other), "data").samples(), 8);
}

TEST(Sinks, TakeNewFilesForNew) {  // also where a file system gives them a removed file's inode
  const TemporaryFolder folder;
  append_rows(*Sinks().open(folder.file("first.h5"), arrays, 0), 1);
  std::filesystem::rename(folder.file("first.h5"), folder.file("read.h5"));
  hdf5::Array(hdf5::File(folder.file("read.h5")), "data");
  std::filesystem::rename(folder.file("read.h5"), folder.file("out.h5"));
  append_rows(*Sinks().open(folder.file("out.h5"), arrays, 0), 1);
  EXPECT_EQ(hdf5::Array(hdf5::File(folder.file("out.h5")), "data").samples(), 8);
}

TEST(Sinks, TwoDoNotShareAFile) {
  const TemporaryFolder folder;
  const auto first = Sinks().open(folder.file("out.h5"), arrays, 0);
  append_rows(*first, 1);
  EXPECT_THROW(Sinks().open(folder.file("out.h5"), arrays, 0), FileError);
  EXPECT_THROW(Sinks().open(folder.file("out.h5"), arrays, 8), FileError);
  append_rows(*first, 1);
  EXPECT_EQ(hdf5::Array(hdf5::File(folder.file("out.h5")), "data").samples(), 16);
}

}  // namespace
}  // namespace cortado::test::full_disk_test
