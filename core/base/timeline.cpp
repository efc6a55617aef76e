#include "core/base/timeline.h"

namespace cortado {

void Timeline::add(const std::string& lane, const std::string& name, const std::string& kind, Clock::time_point begin,
                   Clock::time_point end) {
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  const std::lock_guard<std::mutex> lock(mutex_);
  events_.push_back({lane, name, kind, seconds(begin - zero_), seconds(end - begin)});
}

std::vector<Timeline::Event> Timeline::events() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return events_;
}

}  // namespace cortado
