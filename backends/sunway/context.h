#pragma once
#include <optional>

#include "backends/sunway/launch_data.h"
#include "backends/sunway/operands.h"
#include "backends/sunway/transfers.h"

namespace cortado::sunway {

/// The context of core/machine/program.h on a Sunway cluster: lines and tiles live in the scratchpad and travel by DMA,
/// a fetch is waited for when its work begins, operands are shared by register communication or by RMA. A CPE has one
/// lane; its lane loops are for the compiler's vectors.
class Context {
 public:
  static constexpr int mesh_rows = port_mesh_rows, mesh_cols = port_mesh_cols;

  explicit Context(const Launch& launch)
      : failures_(launch.failures), row_(port_row()), col_(port_col()), ldm_(static_cast<char*>(port_scratch())) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  /// To be called when the program has ended: what was put must arrive.
  void finish() {
    for (auto& slots : puts_)
      for (Pending& pending : slots) pending.wait();
    port_share_end();
  }

  int row() const { return row_; }
  int col() const { return col_; }

  // ---- order

  template <class Fetch, class Work>
  void lines(i64 n, Depth depth, Fetch fetch, Work work) {
    const i64 own = row_ * mesh_cols + col_;
    in_order(
        own < n ? (n - own - 1) / port_cpes + 1 : 0, depth, [&](i64 turn) { return fetch(own + turn * port_cpes); },
        [&](i64 turn, auto& in) { work(own + turn * port_cpes, in); });
  }
  template <class Fetch, class Work>
  void pipeline(i64 n, Depth depth, Fetch fetch, Work work) {
    in_order(n, depth, fetch, work);
  }
  template <class Work>
  void tiles(i64 n, Work work) {
    some_of(n, work);
  }
  template <class Begin, class Fetch, class Work, class End>
  void tiles(i64 n, i64 steps, Depth depth, Begin begin, Fetch fetch, Work work, End end) {
    std::optional<decltype(begin(i64{0}))> sums;
    in_order(
        n * steps, depth, [&](i64 i) { return fetch(i / steps, i % steps); },
        [&](i64 i, auto& in) {
          if (i % steps == 0) sums.emplace(begin(i / steps));
          work(i % steps, in, *sums);
          if (i % steps == steps - 1) end(i / steps, *sums);
        });
  }

  // ---- data

  template <class T>
  Span<T> get(Buf buf, const T* p, i64 n) {
    return {fetched(buf, p, 1, n, n, "get"), n};
  }
  template <class T>
  Block<T> get2d(Buf buf, const T* p, i64 rows, i64 cols, i64 pitch) {
    return {fetched(buf, p, rows, cols, pitch, "get2d"), rows, cols};
  }
  template <class T>
  Block<T> stage(Buf buf, const Box<T>& box) {
    return {staged(buf, box, false, "stage").p, box.size[0] * box.size[1] * box.size[2], box.size[3]};
  }
  template <class T>
  Span<T> keep(Buf buf, const T* p, i64 n) {
    return {fetched(buf, p, 1, n, n, "keep"), n};
  }
  template <class T>
  Out<T> out(Buf buf, T* p, i64 n) {
    const Place<T> place = take<T>(buf, "out");
    return {place.p, n, p, place.puts};
  }
  template <class T>
  Out<T> update(Buf buf, T* p, i64 n) {
    const Place<T> place = take<T>(buf, "update");
    Pending old;
    get_rows(place.p, p, 1, n, n, old);
    old.wait();
    return {place.p, n, p, place.puts};
  }
  template <class T>
  OutBlock<T> out2d(Buf buf, T* p, i64 rows, i64 cols, i64 pitch) {
    const Place<T> place = take<T>(buf, "out2d");
    return {place.p, rows, cols, p, pitch, place.puts, {}};
  }
  template <class T>
  TurnedBlock<T> out_turned(Buf buf, T* p, i64 rows, i64 cols, i64 pitch, i64 kept) {
    const Place<T> place = take<T>(buf, "out_turned");
    return {place.p, rows, cols, p, pitch, kept, place.puts};
  }
  template <class T>
  OutBlock<T> out_streamed(Buf buf, T* p, i64 rows, i64 cols, i64 pitch) {
    return out2d(buf, p, rows, cols, pitch);
  }
  template <class T>
  void put(TurnedBlock<T>& out) {
    put_rows(out.home, out.p, out.kept, out.rows, out.pitch, *out.puts);
  }
  template <class T>
  void put(Out<T>& out) {
    put_rows(out.home, out.p, 1, out.n, out.n, *out.puts);
  }
  template <class T>
  void put(OutBlock<T>& out) {
    put_rows(out.home, out.p, out.rows, out.cols, out.pitch, *out.puts);
  }

  // ---- lanes

  template <class F>
  void each(i64 n, F f) {
    each(Range{0, n}, f);
  }
  template <class F>
  void each(Range range, F f) {
    loop(range.count(), [&](i64 i) { f(range.first + i); });
  }
  template <class F>
  void each2d(i64 rows, i64 cols, F f) {
    each2d(Range{0, rows}, Range{0, cols}, f);
  }
  template <class F>
  void each2d(Range rows, Range cols, F f) {
    // Row by row, as a vector loop runs: the last vector of each row is a short one.
    const i64 n = rows.count(), width = cols.count();
    if (width == 0) return;
    for (i64 r = port_timing_only() && n > 0 ? n - 1 : 0; r < n; ++r)
      loop(
          width, [&](i64 c) { f(rows.first + r, cols.first + c); }, port_timing_only() ? n : 1);
  }
  template <class T, class Op, class F>
  T fold(i64 n, T init, Op op, F f) {
    [[maybe_unused]] static const port_operations combine = {0, 0, 1, 0};
    loop(n, [&](i64 i) { init = op(init, static_cast<T>(f(i))); });
    port_count(n, sizeof(T), &combine);
    return init;
  }
  template <class F>
  void once(F f) {
    f();
  }

  void fail(int code, i64 index) {
    if (failed_) return;
    failed_ = true;
    i64* const record = reinterpret_cast<i64*>(port_bounce());
    record[0] = 1, record[1] = code, record[2] = index;
    Pending pending;
    put_rows(failures_ + 3 * (row_ * mesh_cols + col_), record, 1, 3, 3, pending);
    pending.wait();
  }

  // ---- tiles

  template <class T>
  LeftOperand<T> stage_a(Buf buf, const Box<T>& box, LeftView view) {
    return {staged(buf, box, false, "stage_a"), view};
  }
  /// A matrix whose neighbours in memory are its rows comes in column by column and is turned before its first use, if
  /// the plan has room for that; else element by element.
  template <class T>
  RightOperand<T> stage_b(Buf buf, const Box<T>& box, RightView view) {
    const bool turned = copy_slots(buf) > 0 && box.pitch[3] != 1 && box.pitch[2] == 1 && box.step[2] == 1 &&
                        box.size[0] * box.size[1] == 1;
    return {staged(buf, box, turned, "stage_b"), view};
  }
  template <class T>
  Acc<T> acc(Buf buf, TileShape shape) {
    const Acc<T> acc = sums<T>(buf, shape);
    clear(acc);
    return acc;
  }
  template <class T>
  Acc<T> sums(Buf buf, TileShape shape) {
    const Place<T> place = take<T>(buf, "acc");
    return {place.p, shape, place.puts};
  }
  template <class T>
  OutBlock<T> block(Buf buf, i64 rows, i64 cols) {
    const Place<T> place = take<T>(buf, "block");
    return {place.p, rows, cols, nullptr, cols, place.puts, receive_slots(buf)};
  }
  template <class T>
  LeftOperand<T> left(const OutBlock<T>& block, LeftView view) {
    return {own(block, ++serial_), view};
  }
  template <class T>
  RightOperand<T> right(const OutBlock<T>& block, RightView view) {
    return {own(block, ++serial_), view};
  }
  template <class T>
  Acc<T> rows(const Acc<T>& acc, i64 first, i64 count) {
    return rows(acc, first, count, acc.shape.k);
  }
  template <class T>
  Acc<T> rows(const Acc<T>& acc, i64 first, i64 count, i64 terms) {
    Acc<T> part = acc;
    part.shape.m = count, part.shape.k = terms;
    part.p += first * acc.shape.n();
    return part;
  }
  template <class T>
  Shared<LeftOperand<T>> row_share(LeftOperand<T>& a, int t) {
    prepare(a);
    return {a, t};
  }
  template <class T>
  Shared<RightOperand<T>> col_share(RightOperand<T>& b, int t) {
    prepare(b);
    return {b, t};
  }
  template <class T>
  void fma(const Acc<T>& acc, const Shared<LeftOperand<T>>& a, const Shared<RightOperand<T>>& b, const Taps& taps) {
    port_name("fma", -1);
    multiply(acc.p, a.operand.multiplied(), b.operand.multiplied(),
             product_of(acc.shape, a.operand, b.operand, taps, a.step));
  }
  template <class T>
  void product(const Acc<T>& acc, const Shared<LeftOperand<T>>& a, const Shared<RightOperand<T>>& b, const Taps& taps) {
    clear(acc);
    fma(acc, a, b, taps);
  }
  template <class T, class F>
  void store(const Acc<T>& acc, const OutBox<T>& box, F f);

 private:
  template <class T>
  static void clear(const Acc<T>& acc) {
    [[maybe_unused]] static const port_operations clearing = {0, 1, 0, 0};
    const i64 n = acc.shape.m * acc.shape.n();
    if (!port_timing_only())
      for (i64 i = 0; i < n; ++i) acc.p[i] = T(0);
    port_count(n, sizeof(T), &clearing);
  }

  template <class T>
  struct Place {
    T* p;
    Pending* puts;
  };

  /// The next slot of a buffer, once what was put from it has arrived.
  template <class T>
  Place<T> take(Buf buf, [[maybe_unused]] const char* operation) {
    port_name(operation, buf.id);
    const int turn = turn_[buf.id]++ % buf.slots;
    Pending& puts = puts_[buf.id][turn];
    puts.wait();
    return {reinterpret_cast<T*>(slot(buf, turn)), &puts};
  }
  template <class T>
  const T* fetched(Buf buf, const T* p, i64 rows, i64 cols, i64 pitch, const char* operation) {
    const Place<T> place = take<T>(buf, operation);
    get_rows(place.p, p, rows, cols, pitch, fetching());
    wait_unless_fetching();
    return place.p;
  }

  Pending& fetching() { return fetching_ != nullptr ? *fetching_ : here_; }
  void wait_unless_fetching() {
    if (fetching_ == nullptr) here_.wait();
  }

  template <class Fetch, class Work>
  void in_order(i64 n, Depth depth, Fetch fetch, Work work) {
    using In = decltype(fetch(i64{0}));
    std::optional<In> in[2];  // emplaced, since what a program fetches need not be assignable
    Pending pending[2];
    Pending* const outside = fetching_;
    if (depth == Depth::one)
      return some_of(n, [&](i64 step) {
        fetching_ = &pending[0];
        in[0].emplace(fetch(step));
        fetching_ = nullptr;
        pending[0].wait();
        work(step, *in[0]);
        fetching_ = outside;
      });
    constexpr i64 ahead = 1;
    for (i64 step = 0; step < n + ahead; ++step) {
      if (step < n) {
        fetching_ = &pending[step % 2];
        in[step % 2].emplace(fetch(step));
        fetching_ = nullptr;
      }
      if (step < ahead) continue;
      pending[(step - ahead) % 2].wait();
      work(step - ahead, *in[(step - ahead) % 2]);
    }
    fetching_ = outside;
  }

  /// f(0..n-1). Where only time is kept, a few steps that stand one after the other stand for many of their kind.
  template <class F>
  void some_of(i64 n, F f) {
#ifdef CORTADO_SUNWAY_SIM
    constexpr i64 samples = 8;
    if (port_timing_only() && n > 2 * samples) {
      port_sample_begin(static_cast<double>(n) / samples);
      for (i64 i = 0; i < samples; ++i) f((2 * i + 1) * n / (2 * samples));
      return port_sample_end();
    }
#endif
    for (i64 i = 0; i < n; ++i) f(i);
  }

  /// f(0..n-1), `times` times over as far as the count goes; a simulator counts one iteration in the middle.
  template <class F>
  void loop(i64 n, F f, [[maybe_unused]] i64 times = 1) {
#ifdef CORTADO_SUNWAY_SIM
    if (n <= 0) return;
    const i64 sampled = n / 2;
    for (i64 i = port_timing_only() ? sampled : 0; i < n; ++i) {
      if (i == sampled) tally = {0, 0, 0, 0};
      f(i);
      if (i != sampled) continue;
      const port_operations each = tally;
      port_count(n * times, 4, &each);
      if (port_timing_only()) return;
    }
#else
    for (i64 i = 0; i < n; ++i) f(i);
#endif
  }

  template <class T>
  Staged<T> staged(Buf buf, const Box<T>& box, bool turned, const char* operation) {
    const Place<T> place = take<T>(buf, operation);
    get_box(place.p, box, turned, fetching());
    wait_unless_fetching();
    Staged<T> operand;
    operand.p = place.p;
    operand.elements = static_cast<int>(box.count());
    if (turned) operand.rows = box.size[2], operand.cols = box.size[3];
    operand.widened = sizeof(T) == 4 && copy_slots(buf) > 1;
    if (turned || operand.widened) operand.copy = slot(buf, buf.slots);
    operand.slots = receive_slots(buf);
    operand.serial = ++serial_;
    return operand;
  }

  /// Slots of the copy that is multiplied; behind them lie those into which others share.
  static int copy_slots(Buf buf) {
    return buf.spare >= port_receive_slots() ? buf.spare - port_receive_slots() : buf.spare;
  }
  ReceiveSlots receive_slots(Buf buf) const {
    if (port_receive_slots() == 0 || buf.spare < port_receive_slots()) return {};
    return {slot(buf, buf.slots + copy_slots(buf)), static_cast<int>(buf.bytes)};
  }
  char* slot(Buf buf, int number) const { return ldm_ + buf.offset + static_cast<std::uint32_t>(number) * buf.bytes; }

  i64* failures_;
  int row_, col_;
  char* ldm_;
  bool failed_ = false;
  int serial_ = 0;
  Pending* fetching_ = nullptr;  // where the transfers of the fetch that runs now count
  Pending here_;                 // of gets outside of fetches
  int turn_[max_buffers] = {};
  Pending puts_[max_buffers][max_slots];
};

}  // namespace cortado::sunway

#include "backends/sunway/store.h"  // IWYU pragma: export
