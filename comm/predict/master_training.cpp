#include "comm/predict/master_training.h"

#include <algorithm>
#include <vector>

#include "comm/predict/event_simulation.h"

namespace cortado {
namespace {

/// The links of a tree, and ways over them.
class TreeLinks {
 public:
  TreeLinks(EventSimulation& simulation, const DeviceTree& tree) : per_bridge_(tree.devices_per_bridge) {
    const int bridges = (tree.devices + per_bridge_ - 1) / per_bridge_;
    host_ = simulation.add_link(tree.host_copies);
    for (int d = 0; d < tree.devices; ++d) devices_.push_back(both(simulation, tree.device_link));
    for (int b = 0; b < bridges; ++b) bridges_.push_back(both(simulation, tree.bridge_link));
    for (int b = 0; b + 1 < bridges; ++b) sockets_.push_back(both(simulation, tree.socket_link));
  }
  /// From the first socket's memory.
  std::vector<int> from_host(int device) const {
    std::vector<int> way = {host_};
    across_sockets(0, device / per_bridge_, way);
    way.push_back(bridges_[index(device / per_bridge_)].down);
    way.push_back(devices_[index(device)].down);
    return way;
  }
  std::vector<int> between(int from, int to) const {
    const int first = from / per_bridge_, last = to / per_bridge_;
    std::vector<int> way = {devices_[index(from)].up};
    if (first != last) {
      way.push_back(bridges_[index(first)].up);
      across_sockets(first, last, way);
      way.push_back(bridges_[index(last)].down);
    }
    way.push_back(devices_[index(to)].down);
    return way;
  }

 private:
  struct Both {
    int up, down;
  };
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  static Both both(EventSimulation& simulation, double bandwidth) {
    const int up = simulation.add_link(bandwidth);
    return {up, simulation.add_link(bandwidth)};
  }
  void across_sockets(int from, int to, std::vector<int>& way) const {
    for (int s = from; s < to; ++s) way.push_back(sockets_[index(s)].up);
    for (int s = from; s > to; --s) way.push_back(sockets_[index(s - 1)].down);
  }

  const int per_bridge_;
  int host_ = 0;
  std::vector<Both> devices_, bridges_, sockets_;
};

/// The first and the last of some tasks that do one thing.
struct Phase {
  std::vector<int> tasks;
  double begin(const EventSimulation& of) const {
    double first = of.begin(tasks.front());
    for (const int task : tasks) first = std::min(first, of.begin(task));
    return first;
  }
  double end(const EventSimulation& of) const {
    double last = of.end(tasks.front());
    for (const int task : tasks) last = std::max(last, of.end(task));
    return last;
  }
  double seconds(const EventSimulation& of) const { return tasks.empty() ? 0 : end(of) - begin(of); }
};

class Training {
 public:
  Training(const DeviceTree& tree, const MasterWork& work, const MasterScheme& scheme)
      : tree_(tree), work_(work), scheme_(scheme), links_(simulation_, tree) {
    for (int d = 0; d < tree.devices; ++d) {
      compute_.push_back(simulation_.add_stream());
      copies_.push_back(simulation_.add_stream());
      down_.push_back(simulation_.add_stream());
      up_.push_back(simulation_.add_stream());
    }
  }

  MasterIteration run() {
    constexpr int warm_up = 4, counted = 8;
    for (int i = 0; i < warm_up + counted + 1; ++i) queue_iteration();  // the last loads nothing for a next one
    simulation_.run();
    const Iteration &before = iterations_[index(warm_up - 1)], &last = iterations_[index(warm_up + counted - 1)];
    MasterIteration times;
    times.total = (last.update.end(simulation_) - before.update.end(simulation_)) / counted;
    times.host_copy = last.host_copy.seconds(simulation_);
    times.scatter = last.scatter.seconds(simulation_);
    times.broadcast = last.broadcast.seconds(simulation_);
    times.reduce = last.reduce.seconds(simulation_);
    times.compute = work_.compute;
    times.update = last.update.seconds(simulation_);
    return times;
  }

 private:
  using Tasks = std::vector<int>;  // where they are of devices, one each
  struct Iteration {
    Phase host_copy, scatter, broadcast, compute, reduce, update;
    Tasks begins;  ///< to compute
  };

  void queue_iteration() {
    Iteration now;
    const Tasks input = scheme_.split_and_preload ? preload(now) : copy_and_scatter(now);
    const Tasks weights = broadcast(now, scheme_.split_and_preload ? updated() : input);
    for (int d = 0; d < tree_.devices; ++d) {
      now.begins.push_back(simulation_.compute(compute_[index(d)], 0, {input[index(d)], weights[index(d)]}));
      now.compute.tasks.push_back(simulation_.compute(compute_[index(d)], work_.compute));
    }
    const Tasks sum = reduce(now);
    const double seconds = tree_.update_passes * work_.weight_bytes / tree_.memory;
    now.update.tasks = {simulation_.compute(compute_[0], seconds, sum)};
    iterations_.push_back(now);
  }

  /// Device 0 gets all, when it is done with the iteration before, and then sends the others their parts.
  Tasks copy_and_scatter(Iteration& now) {
    const int whole =
        simulation_.transfer(copies_[0], links_.from_host(0), work_.batch_bytes, tree_.latency, updated());
    now.host_copy.tasks = {whole};
    for (int d = 1; d < tree_.devices; ++d)
      now.scatter.tasks.push_back(
          simulation_.transfer(copies_[index(d)], links_.between(0, d), part_bytes(), tree_.latency, {whole}));
    Tasks parts = now.scatter.tasks;
    parts.insert(parts.begin(), whole);
    return parts;
  }

  /// Each device gets its part, from when it begins to compute on the one before.
  Tasks preload(Iteration& now) {
    for (int d = 0; d < tree_.devices; ++d)
      now.host_copy.tasks.push_back(
          simulation_.transfer(copies_[index(d)], links_.from_host(d), part_bytes(), tree_.latency,
                               iterations_.empty() ? Tasks() : Tasks{iterations_.back().begins[index(d)]}));
    return now.host_copy.tasks;
  }

  /// Along the devices, when `after` has ended. By device, the task after which it has weights.
  Tasks broadcast(Iteration& now, const Tasks& after) {
    const double bytes = work_.weight_bytes * scheme_.weight_bytes / 4;
    const bool is_coded = scheme_.weight_bytes < 4;
    const double coding = static_cast<double>(work_.blobs) * tree_.launch + (work_.weight_bytes + bytes) / tree_.memory;
    const int ready = simulation_.compute(compute_[0], is_coded ? coding : 0, after);
    now.broadcast.tasks = {ready};
    Tasks there(index(tree_.devices), ready);
    in_chunks(bytes, [&](double chunk) {
      int arrived = ready;
      for (int d = 1; d < tree_.devices; ++d) {
        arrived = simulation_.transfer(down_[index(d)], links_.between(d - 1, d), chunk, tree_.latency, {arrived});
        there[index(d)] = arrived;
        if (d == 1) there[0] = arrived;  // sent
        now.broadcast.tasks.push_back(arrived);
      }
    });
    for (int d = 0; d < tree_.devices && is_coded; ++d) {
      there[index(d)] = simulation_.compute(compute_[index(d)], coding, {there[index(d)]});
      now.broadcast.tasks.push_back(there[index(d)]);
    }
    return there;
  }

  /// Sends gradients back along the devices, as each has computed; programs that receive add, which costs no time
  /// beside the links'. Returns the tasks for which the update waits.
  Tasks reduce(Iteration& now) {
    Tasks last;
    in_chunks(work_.weight_bytes, [&](double chunk) {
      Tasks arrived;
      for (int d = tree_.devices - 1; d > 0; --d) {
        arrived.push_back(now.compute.tasks[index(d)]);
        arrived = {simulation_.transfer(up_[index(d)], links_.between(d, d - 1), chunk, tree_.latency, arrived)};
        now.reduce.tasks.push_back(arrived[0]);
      }
      last = arrived;
    });
    return last;
  }

  template <class Send>
  void in_chunks(double bytes, Send send) const {
    for (double first = 0; first < bytes; first += tree_.chunk) send(std::min(tree_.chunk, bytes - first));
  }

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  double part_bytes() const { return work_.batch_bytes / tree_.devices; }
  /// The update tasks of the iteration before.
  Tasks updated() const { return iterations_.empty() ? Tasks() : iterations_.back().update.tasks; }

  const DeviceTree& tree_;
  const MasterWork& work_;
  const MasterScheme& scheme_;
  EventSimulation simulation_;
  const TreeLinks links_;
  std::vector<int> compute_, copies_, down_, up_;
  std::vector<Iteration> iterations_;
};

}  // namespace

MasterIteration simulate_master_training(const DeviceTree& tree, const MasterWork& work, const MasterScheme& scheme) {
  return Training(tree, work, scheme).run();
}

}  // namespace cortado
