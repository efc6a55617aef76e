// main for tests under mpirun: rank 0 reports, other ranks report only failures, any rank's failure is everybody's, and
// a watchdog names the test and the rank when one hangs.
#include "tests/support/mpi_main.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "core/base/log.h"

namespace cortado::test {
namespace {
const MpiJob* the_job = nullptr;

class ReportFailures : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    const std::string where =  // an exception has no place
        result.file_name() == nullptr ? "" : result.file_name() + (":" + std::to_string(result.line_number())) + ": ";
    std::cerr << "rank " + std::to_string(job().rank()) + ": " + where + result.message() + "\n" << std::flush;
  }
};

/// Ends the job when one test takes longer than this.
class Watchdog : public ::testing::EmptyTestEventListener {
 public:
  explicit Watchdog(std::chrono::seconds limit) : limit_(limit), thread_([this] { watch(); }) {}
  ~Watchdog() override {
    stop_ = true;
    thread_.join();
  }

 private:
  using Clock = std::chrono::steady_clock;
  void OnTestStart(const ::testing::TestInfo& test) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    name_ = std::string(test.test_suite_name()) + "." + test.name();
    start_ = Clock::now();
  }
  void OnTestEnd(const ::testing::TestInfo&) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    name_.clear();
  }
  void watch() {
    while (!stop_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const std::lock_guard<std::mutex> lock(mutex_);
      if (name_.empty() || Clock::now() - start_ < limit_) continue;
      std::cerr << "rank " << job().rank() << " of " << job().size() << " hangs in " << name_ << std::endl;
      std::this_thread::sleep_for(std::chrono::seconds(1));  // so that other ranks that hang can say so
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }

  const std::chrono::seconds limit_;
  std::mutex mutex_;
  std::string name_;
  Clock::time_point start_;
  std::atomic<bool> stop_{false};
  std::thread thread_;  // last: it uses the others
};
}  // namespace

const MpiJob& job() { return *the_job; }

}  // namespace cortado::test

int main(int argc, char** argv) {
  using namespace cortado;
  MpiJob job(&argc, &argv);
  test::the_job = &job;
  ::testing::InitGoogleTest(&argc, argv);
  open_log(job.rank() != 0);
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (job.rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new test::ReportFailures);
  }
  listeners.Append(new test::Watchdog(std::chrono::seconds(60)));
  i64 failed = RUN_ALL_TESTS();
  job.replicas().maximum(&failed, 1);
  return static_cast<int>(failed);
}
