#include "comm/wait/inquiry.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "comm/wait/deadline.h"
#include "comm/wait/roll_call.h"
#include "core/base/log.h"

namespace cortado {
namespace {
std::atomic<bool> is_lost{false};  // a wait of this process has given up

double seconds_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::string name_of(int rank) {
  const RollCall* const others = RollCall::of_job();
  return others != nullptr ? others->name_of(rank) : std::to_string(rank);
}

std::string list(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i > 0 ? ", " : "") + name_of(ranks[i]);
  return text;
}
}  // namespace

void Inquiry::look(std::vector<int> missing) {
  RollCall* const others = RollCall::of_job();
  const auto now = Clock::now();
  const double tenth = patience() / 10;
  if (others != nullptr) {
    others->answer(what_, false);
    for (int rank = 0; rank < others->size(); ++rank) {
      const RollCall::Answer last = others->last_answer(rank);
      if (last.works && last.when > moved_) moved_ = last.when;
    }
    if (seconds_between(std::max(moved_, asked_), now) > tenth) {
      others->ask();
      asked_ = now;
    }
    const auto numbers = others->numbers_of(communicator_);
    for (int& rank : missing) rank = numbers[static_cast<std::size_t>(rank)];
    if (missing.empty())
      for (const int rank : numbers)
        if (rank != others->rank() && others->last_answer(rank).when < asked_) missing.push_back(rank);
  }
  if (is_lost) throw PeerError(what_, "another wait of this rank was in vain");
  const double waited = seconds_between(moved_, now);
  // Answers need a moment to come in.
  const double settled = seconds_between(asked_, now);
  if (!has_warned_ && waited > tenth && settled > std::min(0.5, tenth / 2) && waited <= patience()) {
    has_warned_ = true;
    warn(story(missing, waited));
  }
  if (waited <= patience() || settled <= std::min(0.5, tenth / 2)) return;
  is_lost = true;
  const WaitError error(what_, story(missing, waited), "see whether these ranks still run");
  // Whatever is cleaned up on the way out, it must not wait for long.
  end_after(4, std::string(others != nullptr ? "rank " + std::to_string(others->rank()) + ": " : "") + error.what());
  throw WaitError(error);
}

/// The lowest rank that waits speaks for all.
void Inquiry::warn(const std::string& text) const {
  RollCall* const others = RollCall::of_job();
  for (int lower = 0; others != nullptr && lower < others->rank(); ++lower) {
    const RollCall::Answer last = others->last_answer(lower);
    if (last.when >= asked_ && !last.works) return;
  }
  const bool is_first = others == nullptr || others->rank() == 0;
  LogLine(is_first ? Severity::warning : Severity::error, __FILE__, __LINE__).stream()
      << what_ << ": " << text << "; the job ends after " << patience() << " s of this (--patience)";
}

/// "rank 0 waits in step 3 for rank 1, and nothing has moved for 4 s; rank 2 does not answer".
std::string Inquiry::story(const std::vector<int>& missing, double seconds) const {
  RollCall* const others = RollCall::of_job();
  int own = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &own);
  std::ostringstream text;
  text << "rank " << name_of(own) << " waits";
  if (step_ > 0) text << " in step " << step_;
  text << " for " << (missing.empty() ? "others, of whom none is missing" : list(missing))
       << ", and nothing has moved for " << std::setprecision(seconds < 10 ? 2 : 6)
       << (seconds < 10 ? seconds : std::round(seconds)) << " s";
  if (others == nullptr) return text.str();
  std::vector<int> silent;
  for (int rank = 0; rank < others->size(); ++rank) {
    if (rank == own) continue;
    const RollCall::Answer last = others->last_answer(rank);
    if (last.when < asked_)
      silent.push_back(rank);
    else if (missing.empty() || std::count(missing.begin(), missing.end(), rank) > 0)
      text << "; rank " << name_of(rank) << " waits in " << last.what;
  }
  if (!silent.empty()) text << "; " << list(silent) << (silent.size() == 1 ? " does" : " do") << " not answer";
  return text.str();
}

}  // namespace cortado
