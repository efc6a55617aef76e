#include "comm/wait/roll_call.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "comm/wait/calls.h"
#include "core/base/pulse.h"

namespace cortado {
namespace {
constexpr int question = 1, reply = 2;  // tags
RollCall* the_job = nullptr;

void say_that_it_works() {
  static thread_local RollCall::Clock::time_point next;
  const auto now = RollCall::Clock::now();
  if (the_job == nullptr || now < next) return;
  next = now + std::chrono::milliseconds(20);
  the_job->answer("work of its own", true);
}

/// The host of every rank, cut to what messages need. Empty means that all are on one. Collective.
std::vector<std::string> hosts_of(MPI_Comm communicator, int size) {
  using Name = std::array<char, 64>;
  char own[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  MPI_Get_processor_name(own, &length);
  Name name{};
  std::copy_n(own, std::min<std::size_t>(static_cast<std::size_t>(length), name.size() - 1), name.begin());
  std::vector<Name> names(static_cast<std::size_t>(size));
  all_gather(communicator, "hosts of ranks", name.data(), static_cast<int>(name.size()), names.data());
  if (std::adjacent_find(names.begin(), names.end(), std::not_equal_to<>()) == names.end()) return {};
  std::vector<std::string> hosts;
  for (const Name& each : names) hosts.emplace_back(each.data());
  return hosts;
}
}  // namespace

RollCall::RollCall(MPI_Comm world) : communicator_(duplicate(world)) {
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &size_);
  answers_.resize(static_cast<std::size_t>(size_));
  hosts_ = hosts_of(communicator_, size_);
  the_job = this;
  set_pulse(say_that_it_works);
}

RollCall::~RollCall() {
  set_pulse(nullptr);
  answer("the end of the job", false);  // MPI libraries complain of messages that nobody took
  the_job = nullptr;
  release(communicator_);
}

RollCall* RollCall::of_job() { return the_job; }

std::string RollCall::name_of(int rank) const {
  const std::string number = std::to_string(rank);
  return hosts_.empty() ? number : number + " (" + hosts_[static_cast<std::size_t>(rank)] + ")";
}

void RollCall::send(int to, int tag, const Note& note) {
  sent_.push_back({note, MPI_REQUEST_NULL});
  MPI_Isend(&sent_.back().note, sizeof(Note), MPI_BYTE, to, tag, communicator_, &sent_.back().request);
}

void RollCall::ask() {
  const std::lock_guard<std::mutex> lock(mutex_);
  sent_.remove_if([](Sending& one) {
    int through = 0;
    MPI_Test(&one.request, &through, MPI_STATUS_IGNORE);
    return through != 0;
  });
  for (int other = 0; other < size_; ++other)
    if (other != rank_) send(other, question, {});
}

bool RollCall::take(int tag, Note& note, int& from) const {
  int is_there = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  MPI_Improbe(MPI_ANY_SOURCE, tag, communicator_, &is_there, &message, &status);
  if (is_there == 0) return false;
  from = status.MPI_SOURCE;
  MPI_Mrecv(&note, sizeof note, MPI_BYTE, &message, MPI_STATUS_IGNORE);  // short: it is there already
  return true;
}

void RollCall::answer(const std::string& what, bool works) {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;  // another thread answers
  Note note{};
  for (int from = 0; take(reply, note, from);) {
    note.what[sizeof note.what - 1] = '\0';
    answers_[static_cast<std::size_t>(from)] = {Clock::now(), note.works, note.what};
  }
  std::vector<bool> asked(static_cast<std::size_t>(size_));
  for (int from = 0; take(question, note, from);) asked[static_cast<std::size_t>(from)] = true;
  Note own{};
  own.works = works;
  what.copy(own.what, sizeof own.what - 1);
  for (int other = 0; other < size_; ++other)
    if (asked[static_cast<std::size_t>(other)]) send(other, reply, own);
}

RollCall::Answer RollCall::last_answer(int rank) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return answers_[static_cast<std::size_t>(rank)];
}

std::vector<int> RollCall::numbers_of(MPI_Comm communicator) const {
  MPI_Group some = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
  MPI_Comm_group(communicator, &some);
  MPI_Comm_group(communicator_, &all);
  int count = 0;
  MPI_Group_size(some, &count);
  std::vector<int> own(static_cast<std::size_t>(count)), numbers(own.size());
  std::iota(own.begin(), own.end(), 0);
  MPI_Group_translate_ranks(some, count, own.data(), all, numbers.data());
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  return numbers;
}

}  // namespace cortado
