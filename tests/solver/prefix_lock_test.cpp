#include "core/solver/prefix_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"

namespace cortado::test::prefix_lock_test {
namespace {

constexpr PrefixLock::Beats quick{0.02, 4, true};

class PrefixLockTest : public ::testing::Test {
 protected:
  std::string prefix() const { return folder_.file("run"); }
  std::string file() const { return prefix() + ".cortado-lock"; }
  TemporaryFolder folder_;
};

TEST_F(PrefixLockTest, HoldsAndGoes) {
  for (int i = 0; i < 2; ++i) {
    const PrefixLock lock(prefix());
    EXPECT_TRUE(std::filesystem::exists(file()));
    EXPECT_THROW(PrefixLock other(prefix()), FileError);
    const PrefixLock another(folder_.file("new/folder/run"));
  }
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(PrefixLockTest, TakesOverFromTheDead) {
  for (const char* owner : {"cortado thishost 1 17\n", "cortado another.host 1 17\n", ""}) {
    folder_.write("run.cortado-lock", owner);
    EXPECT_NO_THROW(PrefixLock lock(prefix())) << "nobody holds it: " << owner;
    folder_.write("run.cortado-lock", owner);
    EXPECT_NO_THROW(PrefixLock lock(prefix(), quick)) << "nobody touches it: " << owner;
  }
}

TEST_F(PrefixLockTest, SaysWhoseItWas) {
  folder_.write("run.cortado-lock", "cortado this.host 123 17\n");
  ::testing::internal::CaptureStderr();
  { const PrefixLock lock(prefix()); }
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("Taking over " + file() + " from process 123 on this.host, batch job 17"), std::string::npos)
      << log;
  ::testing::internal::CaptureStderr();
  { const PrefixLock lock(prefix()); }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "that one went";
}

/// On file systems where a lock of another node means nothing, its owner is known by touching the file.
TEST_F(PrefixLockTest, KnowsOwnersOnOtherNodesByTheirBeats) {
  folder_.write("run.cortado-lock", "cortado another.host 123 17\n");
  std::atomic<bool> ends{false};
  std::thread owner([&] {
    while (!ends) {
      std::filesystem::last_write_time(file(), std::filesystem::file_time_type::clock::now());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  try {
    const PrefixLock lock(prefix(), PrefixLock::Beats{0.5, 20, true});
    ADD_FAILURE() << "another node's job went unnoticed";
  } catch (const FileError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("process 123 on another.host, batch job 17"), std::string::npos) << what;
  }
  ends = true;
  owner.join();
}

TEST_F(PrefixLockTest, OwnersBeat) {
  const PrefixLock lock(prefix(), quick);
  const auto first = std::filesystem::last_write_time(file());
  for (int i = 0; i < 1000 && std::filesystem::last_write_time(file()) == first; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_NE(std::filesystem::last_write_time(file()), first);
}

TEST_F(PrefixLockTest, TouchesNothingOfOthers) {
  folder_.write("run.cortado-lock", "a user's notes");
  EXPECT_THROW(PrefixLock lock(prefix()), FileError);
  std::stringstream notes;
  notes << std::ifstream(file()).rdbuf();
  EXPECT_EQ(notes.str(), "a user's notes");
  std::filesystem::remove(file());
  const std::string victim = folder_.write("victim", "");
  std::filesystem::create_symlink(victim, file());
  EXPECT_THROW(PrefixLock lock(prefix()), FileError);
  EXPECT_TRUE(std::filesystem::is_empty(victim));
  EXPECT_THROW(PrefixLock lock(victim + "/run"), FileError);
}

}  // namespace
}  // namespace cortado::test::prefix_lock_test
