#pragma once
#include <limits>
#include <optional>

#include "backends/reference/tiles.h"

namespace cortado::reference {

/// The context of core/machine/program.h, serial and checking; one object per lane. Operations on data are done by
/// lane 0 when all lanes have come to them, and the others take what it made. Lines and tiles go to CPEs in turn.
class Context {
 public:
  static constexpr int mesh_rows = 1, mesh_cols = 1;

  explicit Context(Cpe& cpe) : cpe_(cpe) {}

  int row() const { return 0; }
  int col() const { return 0; }

  template <class Fetch, class Work>
  void lines(i64 n, Depth depth, Fetch fetch, Work work) {
    check_top("lines", n);
    Item* const outside = &cpe_.item();
    Item* alive[2] = {};
    const auto fetch_line = [&](i64 turn) {
      alive[turn % 2] = begin("line", worker() + turn * workers(), static_cast<int>(turn % 2));
      return fetch(worker() + turn * workers());
    };
    const auto work_line = [&](i64 turn, auto& in) {
      cpe_.resume(alive[turn % 2]);
      work(worker() + turn * workers(), in);
      end(*alive[turn % 2]);
    };
    in_order(my_share(n), depth, fetch_line, work_line);
    cpe_.resume(outside);
  }

  template <class Fetch, class Work>
  void pipeline(i64 n, Depth depth, Fetch fetch, Work work) {
    cpe_.meet({"pipeline", n, static_cast<i64>(depth)});
    in_order(n, depth, fetch, work);
  }

  template <class Work>
  void tiles(i64 n, Work work) {
    check_top("tiles", n);
    Item* const outside = &cpe_.item();
    for (i64 tile = worker(); tile < n; tile += workers()) {
      Item* const item = begin("tile", tile, 0);
      work(tile);
      end(*item);
    }
    cpe_.resume(outside);
  }
  template <class Begin, class Fetch, class Work, class End>
  void tiles(i64 n, i64 steps, Depth depth, Begin begin, Fetch fetch, Work work, End end) {
    tiles(n, [&](i64 tile) {
      auto sums = begin(tile);
      pipeline(
          steps, depth, [&](i64 step) { return fetch(tile, step); }, [&](i64 step, auto& in) { work(step, in, sums); });
      end(tile, sums);
    });
  }

  // ---- data

  template <class T>
  Span<T> get(Buf buf, const T* p, i64 n) {
    return together<Span<T>>({"get", n, 0, p}, [&] { return Span<T>(input(buf, p, 1, n, n, "get"), n); });
  }
  template <class T>
  Block<T> get2d(Buf buf, const T* p, i64 rows, i64 cols, i64 pitch) {
    return together<Block<T>>({"get2d", rows, cols, p},
                              [&] { return Block<T>(input(buf, p, rows, cols, pitch, "get2d"), rows, cols); });
  }
  template <class T>
  Block<T> stage(Buf buf, const Box<T>& box) {
    return together<Block<T>>({"stage", box.count(), 0, box.base}, [&] {
      return Block<T>(staged(buf, box, "stage"), box.size[0] * box.size[1] * box.size[2], box.size[3]);
    });
  }
  template <class T>
  Span<T> keep(Buf buf, const T* p, i64 n) {
    return together<Span<T>>({"keep", n, 0, p}, [&] {
      if (!cpe_.outside_items()) cpe_.violation("keep inside of lines or tiles: it belongs before them");
      Slot& slot = input(buf, p, 1, n, n, "keep");
      slot.kept = true;
      return Span<T>(slot, n);
    });
  }
  template <class T>
  Out<T> out(Buf buf, T* p, i64 n) {
    return together<Out<T>>({"out", n, 0, p}, [&] { return Out<T>(output(buf, p, 1, n, n, "out"), n); });
  }
  template <class T>
  Out<T> update(Buf buf, T* p, i64 n) {
    return together<Out<T>>({"update", n, 0, p}, [&] { return Out<T>(output(buf, p, 1, n, n, "update", true), n); });
  }
  template <class T>
  OutBlock<T> out2d(Buf buf, T* p, i64 rows, i64 cols, i64 pitch) {
    return together<OutBlock<T>>({"out2d", rows, cols, p},
                                 [&] { return OutBlock<T>(output(buf, p, rows, cols, pitch, "out2d"), rows, cols); });
  }
  template <class T>
  TurnedBlock<T> out_turned(Buf buf, T* p, i64 rows, i64 cols, i64 pitch, i64 kept) {
    return together<TurnedBlock<T>>({"out_turned", rows, cols, p}, [&] {
      if (kept < 0 || kept > cols) cpe_.violation("out_turned keeps more columns than it has");
      Slot& slot = take<T>(buf, Use::tile, rows, cols, "out_turned");
      cpe_.output(slot, p, kept, rows, pitch, sizeof(T), false);
      return TurnedBlock<T>(slot, rows, cols, kept);
    });
  }
  template <class T>
  OutBlock<T> out_streamed(Buf buf, T* p, i64 rows, i64 cols, i64 pitch) {
    return together<OutBlock<T>>({"out_streamed", rows, cols, p}, [&] {
      Slot& slot = take<T>(buf, Use::tile, rows, cols, "out_streamed");
      cpe_.output(slot, p, rows, cols, pitch, sizeof(T), false);
      return OutBlock<T>(slot, rows, cols);
    });
  }
  template <class Handle>
  void put(Handle& out) {
    cpe_.meet({"put", 0, 0, out.slot});
    if (cpe_.lane() == 0) cpe_.put(*out.slot, out.generation);
  }

  // ---- lanes

  template <class F>
  void each(i64 n, F f) {
    each(Range{0, n}, f);
  }
  template <class F>
  void each(Range range, F f) {
    cpe_.enter({"each", range.count()}, Loop::Sets::element);
    for (i64 i = range.first + cpe_.lane(); i < range.end; i += cpe_.lanes()) {
      cpe_.loop().col = i;
      f(i);
    }
    cpe_.leave();
  }
  template <class F>
  void each2d(i64 rows, i64 cols, F f) {
    each2d(Range{0, rows}, Range{0, cols}, f);
  }
  template <class F>
  void each2d(Range rows, Range cols, F f) {
    cpe_.enter({"each2d", rows.count(), cols.count()}, Loop::Sets::cell);
    const i64 width = cols.count();
    for (i64 e = cpe_.lane(); e < rows.count() * width; e += cpe_.lanes()) {
      cpe_.loop().row = rows.first + e / width;
      cpe_.loop().col = cols.first + e % width;
      f(rows.first + e / width, cols.first + e % width);
    }
    cpe_.leave();
  }

  /// From left to right.
  template <class T, class Op, class F>
  T fold(i64 n, T init, Op op, F f) {
    static_assert(std::is_trivially_copyable<T>::value, "lanes exchange plain data");
    cpe_.enter({"fold", n}, Loop::Sets::nothing);
    char* const terms = cpe_.exchange(n * static_cast<i64>(sizeof(T)));
    for (i64 i = cpe_.lane(); i < n; i += cpe_.lanes()) {
      const T term = f(i);
      std::memcpy(terms + i * static_cast<i64>(sizeof(T)), &term, sizeof(T));
    }
    cpe_.leave();
    if (cpe_.lane() == 0) {
      for (i64 i = 0; i < n; ++i) {
        T term = init;
        std::memcpy(static_cast<void*>(&term), terms + i * static_cast<i64>(sizeof(T)), sizeof(T));
        init = op(init, term);
      }
      cpe_.share(init);
    }
    return cpe_.shared<T>(init);
  }

  template <class F>
  void once(F f) {
    cpe_.enter({"once"}, Loop::Sets::anything);
    if (cpe_.lane() == 0) f();
    cpe_.leave();
  }

  void fail(int code, i64 index) {
    Launch& launch = cpe_.launch();
    if (launch.failed) return;
    launch.failed = true;
    launch.code = code;
    launch.index = index;
  }

  // ---- tiles

  template <class T>
  LeftOperand<T> stage_a(Buf buf, const Box<T>& box, LeftView view) {
    return together<LeftOperand<T>>({"stage_a", box.count(), 0, box.base},
                                    [&] { return LeftOperand<T>(staged(buf, box, "stage_a"), view); });
  }
  template <class T>
  RightOperand<T> stage_b(Buf buf, const Box<T>& box, RightView view) {
    return together<RightOperand<T>>({"stage_b", box.count(), 0, box.base},
                                     [&] { return RightOperand<T>(staged(buf, box, "stage_b"), view); });
  }
  template <class T>
  Acc<T> acc(Buf buf, TileShape shape) {
    return filled(buf, shape, T(0), "acc");
  }
  /// Whoever reads a sum that no product has set finds out.
  template <class T>
  Acc<T> sums(Buf buf, TileShape shape) {
    return filled(buf, shape, std::numeric_limits<T>::quiet_NaN(), "sums");
  }
  template <class T>
  OutBlock<T> block(Buf buf, i64 rows, i64 cols) {
    return together<OutBlock<T>>({"block", rows, cols}, [&] {
      Slot& slot = take<T>(buf, Use::tile, rows, cols, "block");
      cpe_.own(slot, rows * cols, sizeof(T));
      return OutBlock<T>(slot, rows, cols);
    });
  }
  template <class T>
  LeftOperand<T> left(const OutBlock<T>& block, LeftView view) {
    check_operand("left", block);
    return LeftOperand<T>(*block.slot, view);
  }
  template <class T>
  RightOperand<T> right(const OutBlock<T>& block, RightView view) {
    check_operand("right", block);
    return RightOperand<T>(*block.slot, view);
  }
  template <class T>
  Acc<T> rows(const Acc<T>& acc, i64 first, i64 count) {
    return rows(acc, first, count, acc.shape.k);
  }
  template <class T>
  Acc<T> rows(const Acc<T>& acc, i64 first, i64 count, i64 terms) {
    cpe_.meet({"rows", first, count, acc.slot});
    if (first < 0 || count < 1 || first + count > acc.shape.m)
      cpe_.violation("rows " + std::to_string(first) + " to " + std::to_string(first + count) +
                     " of an accumulator of " + std::to_string(acc.shape.m));
    Acc<T> part = acc;
    part.shape.m = count, part.shape.k = terms;
    part.first += first * acc.shape.n();
    return part;
  }
  template <class T>
  LeftOperand<T> row_share(const LeftOperand<T>& a, int t) {
    check_share("row_share", t, mesh_cols);
    return a;
  }
  template <class T>
  RightOperand<T> col_share(const RightOperand<T>& b, int t) {
    check_share("col_share", t, mesh_rows);
    return b;
  }
  template <class T>
  void fma(const Acc<T>& acc, const LeftOperand<T>& a, const RightOperand<T>& b, const Taps& taps) {
    cpe_.meet({"fma", taps.count1, taps.count0, acc.slot});
    if (cpe_.lane() != 0) return;
    check_product(cpe_, acc, a, b, taps);
    multiply(acc, a, b, taps);
  }
  template <class T>
  void product(const Acc<T>& acc, const LeftOperand<T>& a, const RightOperand<T>& b, const Taps& taps) {
    cpe_.meet({"product", taps.count1, taps.count0, acc.slot});
    if (cpe_.lane() != 0) return;
    acc.check_live();
    std::fill_n(acc.sums(), acc.shape.m * acc.shape.n(), T(0));
    check_product(cpe_, acc, a, b, taps);
    multiply(acc, a, b, taps);
  }
  template <class T, class F>
  void store(const Acc<T>& acc, const OutBox<T>& box, F f) {
    cpe_.enter({"store", box.rows, box.limit0, box.base}, Loop::Sets::nothing);
    acc.check_live();
    const TileShape &s = acc.shape, part = inside(s, box);
    if (cpe_.lane() == 0) check_store(cpe_, *acc.slot, part, box);
    T* const sums = acc.sums();
    for (i64 e = cpe_.lane(); e < part.m * part.n(); e += cpe_.lanes()) {
      const i64 n0 = e % part.n0, n1 = e / part.n0 % part.n1, n2 = e / part.n0 / part.n1 % part.n2, m = e / part.n();
      T* const place = box.base + m * box.pitch_m + n2 * box.pitch2 + n1 * box.pitch1 + n0 * box.pitch0;
      T& y = *reinterpret_cast<T*>(cpe_.at(place));
      const i64 n = (n2 * s.n1 + n1) * s.n0 + n0;
      T& sum = sums[m * s.n() + n];
      y = f(sum, y, m, n);
      sum = std::numeric_limits<T>::quiet_NaN();  // spent: whoever reads it again finds out
    }
    cpe_.leave();
  }

 private:
  /// Fetches and works on 0..n-1; with Depth::two every fetch runs before the work on the one before it.
  template <class Fetch, class Work>
  static void in_order(i64 n, Depth depth, Fetch& fetch, Work& work) {
    using In = decltype(fetch(i64{0}));
    std::optional<In> in[2];  // emplaced, since what a program fetches need not be assignable
    const i64 ahead = depth == Depth::two ? 1 : 0;
    for (i64 step = 0; step < n + ahead; ++step) {
      if (step < n) in[step % 2].emplace(fetch(step));
      if (step >= ahead) work(step - ahead, *in[(step - ahead) % 2]);
    }
  }

  /// The result of `make`, which lane 0 calls when all lanes have come here.
  template <class Result, class Make>
  Result together(const Operation& operation, Make make) {
    cpe_.meet(operation);
    if (cpe_.lane() == 0) cpe_.share(make());
    return cpe_.shared<Result>();
  }

  i64 worker() const { return cpe_.launch().worker; }
  i64 workers() const { return cpe_.launch().workers; }
  i64 my_share(i64 n) const { return worker() < n ? (n - worker() - 1) / workers() + 1 : 0; }

  void check_top(const char* name, i64 n) {
    cpe_.meet({name, n});
    if (!cpe_.outside_items()) cpe_.violation(std::string(name) + " inside of lines or tiles");
  }
  void check_share(const char* name, int t, int steps) {
    cpe_.meet({name, t});
    if (t < 0 || t >= steps) cpe_.violation(std::string(name) + " of step " + std::to_string(t));
  }

  template <class T>
  void check_operand(const char* name, const OutBlock<T>& block) {
    cpe_.meet({name, block.rows, block.cols, block.slot});
    block.check_live();
  }

  Item* begin(const char* kind, i64 index, int parity) {
    Item* const item = together<Item*>({kind, index}, [&] { return cpe_.begin_item(kind, index, parity); });
    cpe_.resume(item);
    return item;
  }
  void end(const Item& item) {
    cpe_.meet({"end of line", 0, 0, &item});
    if (cpe_.lane() == 0) cpe_.end_item(item);
  }

  template <class T>
  Acc<T> filled(Buf buf, TileShape shape, T value, const char* name) {
    const i64 count = shape.m * shape.n();
    return together<Acc<T>>({name, count, shape.k}, [&] {
      Slot& slot = cpe_.take(buf, Use::tile, count * static_cast<i64>(sizeof(T)), name);
      std::fill_n(reinterpret_cast<T*>(slot.data), count, value);
      return Acc<T>(slot, shape);
    });
  }
  template <class T>
  Slot& input(Buf buf, const T* p, i64 rows, i64 cols, i64 pitch, const char* name) {
    Slot& slot = take<T>(buf, Use::line, rows, cols, name);
    cpe_.input(slot, p, rows, cols, pitch, sizeof(T));
    return slot;
  }
  template <class T>
  Slot& output(Buf buf, T* p, i64 rows, i64 cols, i64 pitch, const char* name, bool update = false) {
    Slot& slot = take<T>(buf, Use::line, rows, cols, name);
    cpe_.output(slot, p, rows, cols, pitch, sizeof(T), update);
    return slot;
  }
  template <class T>
  Slot& staged(Buf buf, const Box<T>& box, const char* name) {
    Slot& slot = take<T>(buf, Use::tile, 1, box.count(), name);
    reference::stage(cpe_, slot, box);
    return slot;
  }
  template <class T>
  Slot& take(Buf buf, Use use, i64 rows, i64 cols, const char* name) {
    static_assert(std::is_trivially_copyable<T>::value && sizeof(T) % 4 == 0, "elements are numbers of whole words");
    if (rows < 0 || cols < 0) cpe_.violation(std::string(name) + " of a negative size");
    return cpe_.take(buf, use, rows * cols * static_cast<i64>(sizeof(T)), name);
  }

  Cpe& cpe_;
};

}  // namespace cortado::reference
