#include "app/report/progress_bar.h"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cstdio>

namespace cortado {
namespace {
std::string clock_time(double seconds) {
  const auto s = static_cast<long>(seconds);
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
                   : fmt::format("{}:{:02}", s / 60, s % 60);
}
}  // namespace

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)), terminal_(isatty(STDERR_FILENO) != 0), start_(Clock::now()) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void ProgressBar::show(i64 done, i64 total, const std::string& note) {
  if (!terminal_ || total <= 0) return;
  const auto now = Clock::now();
  if (first_ < 0) {  // a resumed run does not start at 0
    first_ = done;
    start_ = now;
  }
  if (drawn_ && done < total && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  drawn_ = true;
  constexpr int width = 30;
  const auto filled = static_cast<int>(done * width / total);
  const std::string bar =
      std::string(static_cast<std::size_t>(filled), '#') + std::string(static_cast<std::size_t>(width - filled), '.');
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const std::string left =
      done > first_ ? clock_time(elapsed * static_cast<double>(total - done) / static_cast<double>(done - first_))
                    : "?";
  std::fprintf(stderr, "\r\033[K%s [%s] %lld/%lld  %s  %s left", label_.c_str(), bar.c_str(),
               static_cast<long long>(done), static_cast<long long>(total), note.c_str(), left.c_str());
  std::fflush(stderr);
}

}  // namespace cortado
