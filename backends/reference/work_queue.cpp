#include "backends/reference/work_queue.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/random.h"

namespace cortado::reference {
namespace {
i64 at(const WorkQueue::Clock& clock, int stream) {
  const auto index = static_cast<std::size_t>(stream);
  return index < clock.size() ? clock[index] : 0;
}

void join(WorkQueue::Clock& clock, const WorkQueue::Clock& other) {
  if (clock.size() < other.size()) clock.resize(other.size());
  for (std::size_t s = 0; s < other.size(); ++s) clock[s] = std::max(clock[s], other[s]);
}
}  // namespace

int WorkQueue::make_stream() {
  streams_.emplace_back();
  return streams() - 1;
}

void WorkQueue::add(int stream, Operation operation) {
  Lane& to = lane(stream);
  join(to.clock, waited_for_);
  to.due.push_back({std::move(operation), ++to.added, to.clock});
  if (haste_ == Haste::early)
    reach(stream, to.added);
  else if (haste_ == Haste::any)
    do_some();
}

WorkQueue::Clock WorkQueue::point(int stream) const {
  Clock point = lane(stream).clock;
  point.resize(std::max(point.size(), streams_.size()));
  point[static_cast<std::size_t>(stream)] = lane(stream).added;
  return point;
}

void WorkQueue::order(int earlier, int later) { join(lane(later).clock, point(earlier)); }

void WorkQueue::wait(const Clock& point) {
  for (int s = 0; s < streams(); ++s) reach(s, at(point, s));
  join(waited_for_, point);
}

void WorkQueue::wait() {
  for (int s = streams() - 1; s >= 0; --s) {  // the compute stream last: what it ought to have waited for is done
    if (haste_ == Haste::any) do_some();
    reach(s, lane(s).added);
  }
  for (int s = 0; s < streams(); ++s) join(waited_for_, point(s));
  accesses_.clear();
}

bool WorkQueue::is_due(const Touched::Run& host) const {
  for (const Lane& of : streams_)
    for (const Due& due : of.due)
      for (const Touched::Run& run : due.operation.host)
        if (run.conflicts(host)) return true;
  return false;
}

/// Does the operations of a stream up to that one, and what goes before them.
void WorkQueue::reach(int stream, i64 number) {
  while (lane(stream).done < number) {
    const Clock after = lane(stream).due.front().after;
    for (int s = 0; s < streams(); ++s)
      if (s != stream) reach(s, at(after, s));
    do_next(stream);
  }
}

void WorkQueue::do_next(int stream) {
  Lane& of = lane(stream);
  const Due due = std::move(of.due.front());
  of.due.pop_front();
  of.done = due.number;
  Touched touched;
  try {
    due.operation.work(touched);
    if (streams() > 1) check(stream, due, touched);
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
  }
}

int WorkQueue::chosen(int of) {
  return static_cast<int>(random_bits(seed_, choices_++) % static_cast<std::uint64_t>(of));
}

void WorkQueue::do_some() {
  for (int steps = chosen(4); steps > 0; --steps) {
    const int stream = chosen(streams());
    if (!lane(stream).due.empty()) reach(stream, lane(stream).done + 1);
  }
}

void WorkQueue::check(int stream, const Due& due, const Touched& touched) {
  std::vector<Touched::Run> runs = touched.runs();
  runs.insert(runs.end(), due.operation.host.begin(), due.operation.host.end());
  for (const Access& before : accesses_) {
    if (before.stream == stream || at(due.after, before.stream) >= before.number) continue;
    for (const Touched::Run& run : runs)
      if (run.conflicts(before.run))
        throw ClusterError(due.operation.what + " on stream " + std::to_string(stream),
                           std::string(run.write ? "writes" : "reads") + " what " + *before.what + " on stream " +
                               std::to_string(before.stream) + (before.run.write ? " writes" : " reads") +
                               ", and nothing orders them",
                           "order the streams, or wait between them");
  }
  const auto what = std::make_shared<const std::string>(due.operation.what);
  for (const Touched::Run& run : runs) accesses_.push_back({run, stream, due.number, what});
  if (accesses_.size() > many_) forget_ordered();
}

/// Drops accesses that go before all that can still be added, or is still to be done.
void WorkQueue::forget_ordered() {
  const auto is_ordered = [&](const Access& access) {
    for (int s = 0; s < streams(); ++s) {
      if (s == access.stream) continue;
      const Clock& after = lane(s).due.empty() ? lane(s).clock : lane(s).due.front().after;
      if (std::max(at(after, access.stream), at(waited_for_, access.stream)) < access.number) return false;
    }
    return true;
  };
  accesses_.erase(std::remove_if(accesses_.begin(), accesses_.end(), is_ordered), accesses_.end());
  many_ = std::max<std::size_t>(4096, 2 * accesses_.size());
}

}  // namespace cortado::reference
