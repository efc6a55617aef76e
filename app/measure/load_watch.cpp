#include "app/measure/load_watch.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/base/log.h"

namespace cortado {

double LoadWatch::seconds_waited() {
  double most = 0;
  std::error_code gone;  // a thread that ends meanwhile
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    std::ifstream file(task.path() / "schedstat");
    double ran = 0, waited = 0;  // nanoseconds
    if (file >> ran >> waited) most = std::max(most, waited * 1e-9);
  }
  return most;
}

double LoadWatch::share() const {
  const std::chrono::duration<double> time = Clock::now() - began_;
  return time.count() > 0 ? (seconds_waited() - waited_) / time.count() : 0;
}

void LoadWatch::look(double period) {
  constexpr int most_warnings = 10;
  const std::chrono::duration<double> time = Clock::now() - began_;
  if (time.count() < period || warnings_ == most_warnings) return;
  const double part = share();
  if (part > worth_telling) {
    double load = 0;
    getloadavg(&load, 1);
    ++warnings_;
    CORTADO_LOG(warning) << "For " << std::lround(100 * part) << " % of the last " << std::ceil(10 * time.count()) / 10
                         << " s threads waited for processors that others used (load average " << load
                         << "): everything takes longer; leave the machine to it, or take fewer threads "
                            "(OMP_NUM_THREADS)";
  }
  began_ = Clock::now();
  waited_ = seconds_waited();
}

}  // namespace cortado
