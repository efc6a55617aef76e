#pragma once
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace cortado {

/// A machine's devices and links at work in simulated seconds. Work is queued in streams, as on a device. The work of a
/// stream happens in order, and begins when the work that it waits for in others has ended. Transfers take their bytes
/// over all links of a way at the same time. Transfers that share a link share its bandwidth fairly (max-min). The
/// rates of all grow alike until a link is full, whose transfers stay there, and so on.
///
/// Links, streams and tasks are numbers from 0 in the order in which they are added.
class EventSimulation {
 public:
  /// `bandwidth` in bytes a second, in one direction.
  int add_link(double bandwidth);
  int add_stream();
  /// Work of so many seconds, after the tasks in `after`.
  int compute(int stream, double seconds, const std::vector<int>& after = {});
  /// `latency` seconds, then `bytes` over the links of `way`.
  int transfer(int stream, std::vector<int> way, double bytes, double latency, const std::vector<int>& after = {});
  /// Runs all tasks. It is called once.
  void run();
  double begin(int task) const { return at(task).begin; }
  double end(int task) const { return at(task).end; }

 private:
  struct Task {
    double seconds, bytes;  ///< the latency and what is left to send, or the work and 0
    std::vector<int> way;
    int waits_for;            ///< number of tasks that have not ended
    std::vector<int> before;  ///< tasks that wait for this one
    double begin = 0, end = 0;
  };
  struct Flow {
    int task;
    double bytes, rate;
  };

  const Task& at(int task) const { return tasks_[static_cast<std::size_t>(task)]; }
  int add(int stream, double seconds, std::vector<int> way, double bytes, const std::vector<int>& after);
  void start(int task);
  void finish(int task);
  void share_links();
  void advance_to(double time);

  std::vector<double> links_;
  std::vector<int> last_;  // of each stream, -1: nothing yet
  std::vector<Task> tasks_;

  double now_ = 0;
  using Due = std::pair<double, int>;  // when a task's work or latency is over
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::vector<Flow> flows_;
};

}  // namespace cortado
