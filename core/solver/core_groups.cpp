#include "core/solver/core_groups.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/caffe.pb.h"
#include "core/machine/launch_elementwise.h"
#include "core/solver/programs.h"
#include "core/solver/shared_addition.h"

namespace cortado {
namespace {

/// What the core groups of a process show each other between two meetings.
struct SharedBoard {
  SharedBoard(const Replicas& its_processes, GradientExchange& its_exchange, int groups)
      : processes(its_processes),
        exchange(its_exchange),
        shown(static_cast<std::size_t>(groups)),
        gradients(static_cast<std::size_t>(groups)) {}
  const Replicas& processes;
  GradientExchange& exchange;
  std::vector<void*> shown;  ///< by index
  /// Of an iteration: ends in the arena.
  struct Gradients {
    std::atomic<float*> arena{nullptr};
    std::atomic<i64> final{0};  ///< of a core group's own
    std::atomic<i64> added{0};  ///< of the sums, to which it has added its parts
  };
  std::vector<Gradients> gradients;  ///< by index
  float factor = 1;

  int groups() const { return static_cast<int>(shown.size()); }
  /// How far all core groups are.
  i64 least(std::atomic<i64> Gradients::*end) const {
    i64 least = std::numeric_limits<i64>::max();
    for (const Gradients& each : gradients) least = std::min(least, (each.*end).load(std::memory_order_acquire));
    return least;
  }
};

/// One core group among those of all processes. Values meet in core group 0, in order of indices.
class GroupReplicas : public Replicas {
 public:
  GroupReplicas(SharedBoard& board, GroupBarrier& barrier, int index)
      : board_(board), barrier_(barrier), index_(index) {}
  int rank() const override { return board_.processes.rank() * board_.groups() + index_; }
  int size() const override { return board_.processes.size() * board_.groups(); }
  int group_in_process() const override { return index_; }
  int groups_of_process() const override { return board_.groups(); }
  const void* shown_by_master(const void* shown) const override {
    at_root(shown, [&](const void* const& masters) { shown = masters; });
    return shown;
  }

  void sum(double* values, i64 count) const override {
    reduce(
        values, count, [](double a, double b) { return a + b; }, [&] { board_.processes.sum(values, count); });
  }
  void maximum(i64* values, i64 count) const override {
    reduce(
        values, count, [](i64 a, i64 b) { return std::max(a, b); }, [&] { board_.processes.maximum(values, count); });
  }
  std::string from_root(const std::string& text) const override {
    std::string own = text;
    if (index_ == 0) own = board_.processes.from_root(text);
    at_root(own, [&](const std::string& roots) { own = roots; });
    return own;
  }
  void from_root(float* values, i64 count) const override {
    if (index_ == 0) board_.processes.from_root(values, count);
    at_root(*values, [&](const float& roots) { std::copy_n(&roots, count, values); });
  }

 private:
  /// Shows core group 0's value to the others.
  template <class T, class Use>
  void at_root(T& own, Use use) const {
    if (index_ == 0) board_.shown[0] = &own;
    barrier_.arrive_and_wait();
    if (index_ != 0) use(*static_cast<const T*>(board_.shown[0]));
    barrier_.arrive_and_wait();
  }
  template <class T, class Op, class Across>
  void reduce(T* values, i64 count, Op op, Across across) const {
    board_.shown[static_cast<std::size_t>(index_)] = values;
    barrier_.arrive_and_wait();
    if (index_ == 0) {
      for (int other = 1; other < board_.groups(); ++other) {
        const auto* const more = static_cast<const T*>(board_.shown[static_cast<std::size_t>(other)]);
        for (i64 i = 0; i < count; ++i) values[i] = op(values[i], more[i]);
      }
      across();
    }
    barrier_.arrive_and_wait();
    if (index_ != 0) std::copy_n(static_cast<const T*>(board_.shown[0]), count, values);
    barrier_.arrive_and_wait();
  }

  SharedBoard& board_;
  GroupBarrier& barrier_;
  const int index_;
};

/// Core groups add up the gradients of all in core group 0's arena: after backward, or where the exchange sends them
/// meanwhile, as soon as all have brought a layer's. Each adds its parts as it ends with a layer of its own, and waits
/// for nobody until the end. Then all help the exchange to add what arrives.
class GroupExchange : public GradientExchange {
 public:
  GroupExchange(SharedBoard& board, SharedAddition& addition, CoreGroup& group, GroupBarrier& barrier)
      : board_(board), addition_(addition), group_(group), barrier_(barrier) {}
  bool has_master() const override { return board_.exchange.has_master(); }

  void layer_finished(Net& net, std::size_t index) override {
    if (!board_.exchange.comes_in_parts()) return;
    bring(net, final_of(net, index));
    add_parts(*net.gradient_arena());
    if (group_.index() != 0) return;
    finished_.push_back(index);
    pass_on(net, board_.least(&SharedBoard::Gradients::added));
  }

  float finish(Net& net) override {
    const Storage& own = *net.gradient_arena();
    bring(net, own.count);
    barrier_.arrive_and_wait();  // all have brought everything
    add_parts(own);
    barrier_.arrive_and_wait();  // all have added everything
    own_gradients().final.store(0, std::memory_order_relaxed);
    own_gradients().added.store(0, std::memory_order_relaxed);
    piece_ = 0;
    if (group_.index() == 0) {
      SharedAddition::Service service(addition_, barrier_, board_.groups());
      pass_on(net, own.count);
      board_.factor = board_.exchange.finish(net) / static_cast<float>(board_.groups());
      board_.shown[0] = own.data;
      service.end();
    } else {
      addition_.serve(group_, barrier_, board_.groups());
    }
    if (!has_master()) take(own, {{0, own.count}});
    return board_.factor;
  }

  void share_weights(Net& net) override {
    if (!has_master()) return;
    if (group_.index() == 0) board_.exchange.share_weights(net);
    show(*net.parameter_arena());
    take(*net.parameter_arena(), net.weight_ranges());
  }
  void restore_weights(Net& net) override {
    if (group_.index() == 0) board_.exchange.restore_weights(net);
  }
  std::vector<float> residuals() const override {
    return group_.index() == 0 ? board_.exchange.residuals() : std::vector<float>();
  }
  bool restore_residuals(Net& net, const std::vector<float>& values) override {
    return group_.index() == 0 ? board_.exchange.restore_residuals(net, values) : values.empty();
  }

 private:
  SharedBoard::Gradients& gradients_of(int group) const { return board_.gradients[static_cast<std::size_t>(group)]; }
  SharedBoard::Gradients& own_gradients() const { return gradients_of(group_.index()); }
  /// Where the gradients end that are final with that layer.
  i64 final_of(Net& net, std::size_t index) {
    if (final_.empty()) {
      final_ = ends_ = net.final_gradients();
      std::sort(ends_.begin(), ends_.end());
      ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
    }
    return final_[index];
  }
  /// Shows the others that the gradients before `end` are final.
  void bring(Net& net, i64 end) {
    group_.wait();
    own_gradients().arena.store(net.gradient_arena()->data, std::memory_order_relaxed);
    own_gradients().final.store(end, std::memory_order_release);
  }
  /// Adds this core group's parts of the pieces that all have brought.
  void add_parts(const Storage& own) {
    const i64 brought = board_.least(&SharedBoard::Gradients::final);
    i64 added = own_gradients().added.load(std::memory_order_relaxed);
    for (; added < brought; ++piece_) {
      while (piece_ < ends_.size() && ends_[piece_] <= added) ++piece_;
      const i64 end = piece_ < ends_.size() ? ends_[piece_] : own.count;
      if (end > brought) break;
      add_part(added, end - added, own.count);
      added = end;
    }
    group_.wait();
    own_gradients().added.store(added, std::memory_order_release);
  }
  /// Adds the others' gradients to core group 0's. Devices reach no others' memory: there core group 0 adds all.
  void add_part(i64 first, i64 count, i64 most) {
    SharedAddition::Part part{0, group_.index() == 0 ? count : 0};
    if (group_.spec().host_memory)
      part = SharedAddition::part_of(count, group_.index(), board_.groups(), static_cast<i64>(piece_));
    if (part.count == 0) return;
    const auto values_of = [&](int group) {
      return gradients_of(group).arena.load(std::memory_order_relaxed) + first + part.first;
    };
    for (int other = 1; other < board_.groups(); ++other) add(values_of(other), values_of(0), part.count, most);
  }
  /// Hands on to the exchange the layers whose sums end before `end`.
  void pass_on(Net& net, i64 end) {
    for (; !finished_.empty() && final_[finished_.front()] <= end; finished_.pop_front())
      board_.exchange.layer_finished(net, finished_.front());
  }
  /// y += another core group's values. Its memory may be another device's, where only copies reach. `most` is as many
  /// as ever.
  void add(const float* from, float* y, i64 n, i64 most) {
    if (group_.spec().host_memory) return add_values(group_, from, y, n);
    const i64 piece = std::min(most, i64{1} << 22);
    const auto bytes_of = [](i64 count) { return static_cast<std::size_t>(count) * sizeof(float); };
    if (copied_.bytes() < bytes_of(piece)) copied_ = ClusterMemory(group_, bytes_of(piece));
    for (i64 first = 0; first < n; first += piece) {
      const i64 count = std::min(piece, n - first);
      group_.copy(copied_.get(), from + first, bytes_of(count));
      add_values(group_, copied_.as<float>(), y + first, count);
    }
  }
  float* shown_by(int group) const { return static_cast<float*>(board_.shown[static_cast<std::size_t>(group)]); }
  /// To the other core groups of the process, once all have come.
  void show(const Storage& own) {
    group_.wait();
    board_.shown[static_cast<std::size_t>(group_.index())] = own.data;
    barrier_.arrive_and_wait();
  }
  /// What core group 0 shows, which stands until all have it.
  void take(const Storage& own, const std::vector<Net::Range>& ranges) {
    if (group_.index() != 0)
      for (const Net::Range& range : ranges)
        group_.copy(own.data + range.first, shown_by(0) + range.first,
                    static_cast<std::size_t>(range.count) * sizeof(float));
    group_.wait();
    barrier_.arrive_and_wait();
  }

  SharedBoard& board_;
  SharedAddition& addition_;
  CoreGroup& group_;
  GroupBarrier& barrier_;
  ClusterMemory copied_;
  std::vector<i64> final_;            // Net::final_gradients
  std::vector<i64> ends_;             // of pieces, growing
  std::size_t piece_ = 0;             // the next one
  std::deque<std::size_t> finished_;  // of core group 0: layers that are not handed on
};

/// The process's sums in host memory, in pieces: what becomes final with one layer. Where core groups' own memory is
/// the host's, partial sums stay with the core group that came last: nothing is copied but complete sums.
class HostSums {
 public:
  explicit HostSums(int groups) : groups_(groups) {}

  /// By the first core group that comes; the others find it made.
  void prepare(Net& net, CoreGroup& group) {
    const std::lock_guard<std::mutex> lock(making_);
    if (!ends_.empty()) return;
    ends_ = net.final_gradients();
    ends_.push_back(net.gradient_arena()->count);
    std::sort(ends_.begin(), ends_.end());
    ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
    pieces_ = std::vector<Piece>(ends_.size());
    if (!group.spec().host_memory) values_ = Storage::make_staging(group, ends_.back());
  }
  std::size_t pieces() const { return ends_.size(); }
  i64 begin(std::size_t piece) const { return piece == 0 ? 0 : ends_[piece - 1]; }
  i64 end(std::size_t piece) const { return ends_[piece]; }
  /// Where the sum of those that have come lies.
  const float* sum(std::size_t piece) const { return pieces_[piece].sum; }

  /// Adds up a core group's gradients and those that came before, as its turn comes: by its cluster, in its own memory,
  /// where that is the host's. They stand until all have the sum.
  void add(CoreGroup& group, std::size_t piece, float* gradients) {
    Piece& to = pieces_[piece];
    const i64 count = end(piece) - begin(piece);
    const std::lock_guard<std::mutex> lock(to.queue);
    const i64 before = to.arrived.load(std::memory_order_relaxed);
    const bool is_first = before % groups_ == 0;
    if (group.spec().host_memory) {
      if (!is_first) add_values(group, to.sum, gradients, count);
      group.wait();
      to.sum = gradients;
    } else {
      to.sum = values_->data + begin(piece);
      for (i64 i = 0; i < count; ++i) to.sum[i] = is_first ? gradients[i] : to.sum[i] + gradients[i];
    }
    to.arrived.store(before + 1, std::memory_order_release);
  }
  /// Whether all core groups' gradients of that many iterations have come.
  bool is_complete(std::size_t piece, i64 iterations) const {
    return pieces_[piece].arrived.load(std::memory_order_acquire) >= iterations * groups_;
  }

 private:
  struct Piece {
    std::mutex queue;
    float* sum = nullptr;
    std::atomic<i64> arrived{0};
  };
  const int groups_;
  std::mutex making_;
  std::vector<i64> ends_;
  std::vector<Piece> pieces_;
  std::shared_ptr<Storage> values_;  // of devices, whose own memory is elsewhere
};

/// TRL's exchange of one core group.
class HostSumExchange : public GradientExchange {
 public:
  HostSumExchange(SharedBoard& board, HostSums& sums, CoreGroup& group, GroupBarrier& barrier)
      : board_(board), sums_(sums), group_(group), barrier_(barrier), back_(group.make_stream()) {}

  void layer_finished(Net& net, std::size_t index) override {
    if (final_.empty()) {
      final_ = net.final_gradients();
      sums_.prepare(net, group_);
      ++iteration_;
    }
    bring(net, final_[index]);
    if (board_.processes.size() == 1) return take_back(net);
    if (group_.index() != 0 || !board_.exchange.comes_in_parts()) return;
    finished_.push_back(index);
    take_back(net);
    pass_on(net);
  }

  float finish(Net& net) override {
    bring(net, net.gradient_arena()->count);
    barrier_.arrive_and_wait();  // all have brought everything
    if (board_.processes.size() > 1)
      across_processes(net);
    else
      take_back(net);
    group_.wait();
    barrier_.arrive_and_wait();  // all have taken everything
    brought_ = taken_ = 0;
    ++iteration_;
    return board_.processes.size() > 1 ? board_.factor : 1.0f / static_cast<float>(board_.groups());
  }

 private:
  void bring(Net& net, i64 end) {
    const Storage& own = *net.gradient_arena();
    for (; brought_ < sums_.pieces() && sums_.end(brought_) <= end; ++brought_) {
      float* from = own.data + sums_.begin(brought_);
      if (!group_.spec().host_memory) {
        staging_.resize(static_cast<std::size_t>(own.count));
        const i64 count = sums_.end(brought_) - sums_.begin(brought_);
        group_.copy(staging_.data(), from, static_cast<std::size_t>(count) * sizeof(float));
        from = staging_.data();
      }
      group_.wait();
      sums_.add(group_, brought_, from);
    }
  }
  void take_back(Net& net) {
    for (; taken_ < brought_ && sums_.is_complete(taken_, iteration_); ++taken_) {
      float* const to = net.gradient_arena()->data + sums_.begin(taken_);
      if (sums_.sum(taken_) != to)
        group_.copy(to, sums_.sum(taken_),
                    static_cast<std::size_t>(sums_.end(taken_) - sums_.begin(taken_)) * sizeof(float), back_);
    }
  }
  /// Hands on to the exchange with other processes the layers whose sums core group 0 has.
  void pass_on(Net& net) {
    if (finished_.empty() || final_[finished_.front()] > sums_.begin(taken_)) return;
    group_.wait();
    for (; !finished_.empty() && final_[finished_.front()] <= sums_.begin(taken_); finished_.pop_front())
      board_.exchange.layer_finished(net, finished_.front());
  }
  /// The sums of the process enter the exchange with others as core group 0's gradients.
  void across_processes(Net& net) {
    const Storage& own = *net.gradient_arena();
    const auto bytes = static_cast<std::size_t>(own.count) * sizeof(float);
    if (group_.index() == 0) {
      take_back(net);
      pass_on(net);
      group_.wait();
      board_.factor = board_.exchange.finish(net) / static_cast<float>(board_.groups());
      board_.shown[0] = own.data;
    }
    barrier_.arrive_and_wait();
    if (group_.index() != 0) group_.copy(own.data, static_cast<const float*>(board_.shown[0]), bytes);
  }

  SharedBoard& board_;
  HostSums& sums_;
  CoreGroup& group_;
  GroupBarrier& barrier_;
  const Stream back_;
  std::vector<i64> final_;
  std::deque<std::size_t> finished_;  // of core group 0: layers that are not handed on
  std::size_t brought_ = 0, taken_ = 0;
  i64 iteration_ = 0;  // counts from 1
  std::vector<float> staging_;
};

}  // namespace

void train_on_core_groups(Processor& processor, const SolverOptions& options,
                          const std::function<void(const SolverOptions&)>& train) {
  if (processor.core_groups() == 1) return train(options);
  const Replicas alone;
  NoExchange no_exchange;
  SharedBoard board(options.replicas != nullptr ? *options.replicas : alone,
                    options.exchange != nullptr ? *options.exchange : no_exchange, processor.core_groups());
  HostSums sums(processor.core_groups());
  SharedAddition own_addition;
  SharedAddition& addition = options.addition != nullptr ? *options.addition : own_addition;
  processor.run([&](CoreGroup& group, GroupBarrier& barrier) {
    const QuietLog quiet(group.index() != 0);
    const GroupReplicas replicas(board, barrier, group.index());
    std::unique_ptr<GradientExchange> exchange;
    if (options.host_sums)
      exchange = std::make_unique<HostSumExchange>(board, sums, group, barrier);
    else
      exchange = std::make_unique<GroupExchange>(board, addition, group, barrier);
    SolverOptions own = options;
    own.group = &group;
    own.replicas = &replicas;
    own.exchange = exchange.get();
    train(own);
  });
}

void add_values(CoreGroup& group, const float* x, float* y, i64 n) {
  elementwise(group, n, AddValues{}, from(y, x), to(y));
}

void divide_batches(caffe::NetParameter& net, i64 parts, const LayerTable& layers) {
  if (parts == 1) return;
  for (auto& layer : *net.mutable_layer())
    layers.divide_batch(layer, [&](i64 batch) {
      if (batch % parts != 0)
        throw ConfigError("layer '" + layer.name() + "'",
                          "its batch of " + std::to_string(batch) + " cannot be divided among " +
                              std::to_string(parts) + " core groups",
                          "choose another batch, or another number with --core-groups");
      return batch / parts;
    });
}

}  // namespace cortado
