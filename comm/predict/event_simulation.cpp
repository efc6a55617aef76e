#include "comm/predict/event_simulation.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"

namespace cortado {

int EventSimulation::add_link(double bandwidth) {
  require(bandwidth > 0, "links carry something");
  links_.push_back(bandwidth);
  return static_cast<int>(links_.size()) - 1;
}

int EventSimulation::add_stream() {
  last_.push_back(-1);
  return static_cast<int>(last_.size()) - 1;
}

int EventSimulation::compute(int stream, double seconds, const std::vector<int>& after) {
  return add(stream, seconds, {}, 0, after);
}

int EventSimulation::transfer(int stream, std::vector<int> way, double bytes, double latency,
                              const std::vector<int>& after) {
  require(!way.empty(), "a transfer has a way");
  return add(stream, latency, std::move(way), bytes, after);
}

int EventSimulation::add(int stream, double seconds, std::vector<int> way, double bytes,
                         const std::vector<int>& after) {
  const int task = static_cast<int>(tasks_.size());
  tasks_.push_back({seconds, bytes, std::move(way), 0, {}});
  const auto wait_for = [&](int other) {
    tasks_[static_cast<std::size_t>(other)].before.push_back(task);
    ++tasks_.back().waits_for;
  };
  int& last = last_[static_cast<std::size_t>(stream)];
  if (last >= 0) wait_for(last);
  for (const int other : after) wait_for(other);
  last = task;
  return task;
}

void EventSimulation::run() {
  for (std::size_t task = 0; task < tasks_.size(); ++task)
    if (tasks_[task].waits_for == 0) start(static_cast<int>(task));
  while (!due_.empty() || !flows_.empty()) {
    share_links();
    double next = due_.empty() ? std::numeric_limits<double>::infinity() : due_.top().first;
    for (const Flow& flow : flows_) next = std::min(next, now_ + flow.bytes / flow.rate);
    advance_to(next);
  }
}

void EventSimulation::start(int task) {
  tasks_[static_cast<std::size_t>(task)].begin = now_;
  due_.push({now_ + at(task).seconds, task});
}

void EventSimulation::finish(int task) {
  tasks_[static_cast<std::size_t>(task)].end = now_;
  for (const int next : at(task).before)
    if (--tasks_[static_cast<std::size_t>(next)].waits_for == 0) start(next);
}

/// Gives every flow its rate: of the links that are left, the one with the least for each of its flows holds those.
void EventSimulation::share_links() {
  std::vector<double> left = links_;
  std::vector<int> users(links_.size());
  for (Flow& flow : flows_) {
    flow.rate = 0;
    for (const int link : at(flow.task).way) ++users[static_cast<std::size_t>(link)];
  }
  for (std::size_t done = 0; done < flows_.size();) {
    std::size_t tightest = links_.size();
    for (std::size_t link = 0; link < links_.size(); ++link)
      if (users[link] > 0 && (tightest == links_.size() || left[link] / users[link] < left[tightest] / users[tightest]))
        tightest = link;
    const double rate = left[tightest] / users[tightest];
    for (Flow& flow : flows_) {
      const std::vector<int>& way = at(flow.task).way;
      if (flow.rate > 0 || std::find(way.begin(), way.end(), static_cast<int>(tightest)) == way.end()) continue;
      flow.rate = rate;
      ++done;
      for (const int link : way) {
        left[static_cast<std::size_t>(link)] -= rate;
        --users[static_cast<std::size_t>(link)];
      }
    }
  }
}

/// Ends the tasks that end then, and begins those that waited for them.
void EventSimulation::advance_to(double time) {
  constexpr double rounding = 1e-9;  // of a flow's bytes
  const double seconds = time - now_;
  now_ = time;
  std::vector<int> ended;
  for (Flow& flow : flows_) {
    flow.bytes -= flow.rate * seconds;
    if (flow.bytes <= rounding * at(flow.task).bytes) ended.push_back(flow.task);
  }
  flows_.erase(std::remove_if(flows_.begin(), flows_.end(),
                              [&](const Flow& flow) { return flow.bytes <= rounding * at(flow.task).bytes; }),
               flows_.end());
  while (!due_.empty() && due_.top().first <= now_) {
    const int task = due_.top().second;
    due_.pop();
    if (at(task).bytes > 0)
      flows_.push_back({task, at(task).bytes, 0});
    else
      ended.push_back(task);
  }
  for (const int task : ended) finish(task);
}

}  // namespace cortado
