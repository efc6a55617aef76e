#pragma once
#include <chrono>
#include <string>

#include "core/base/types.h"

namespace cortado {

/// One line on standard error that is rewritten in place: done, rate, time left. It draws nothing where standard error
/// is not a terminal, so logs in files stay clean.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Shows `done` of `total`; `note` stands at the end ("1234 images/s"). It redraws at most ten times a second.
  void show(i64 done, i64 total, const std::string& note = "");

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  bool terminal_;
  bool drawn_ = false;
  i64 first_ = -1;
  Clock::time_point start_, last_;
};

}  // namespace cortado
