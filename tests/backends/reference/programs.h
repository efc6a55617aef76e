#pragma once
#include <string>
#include <vector>

#include "core/machine/program.h"
#include "tests/backends/reference/faults.h"

namespace cortado::test {

/// Makes one planted mistake. x and y hold `lines` lines of `n`; `in` and `out` are booked for one line, `tile_in` and
/// `sum` for n words, `small` for 128 bytes. Without a fault: y = x + 1 by lines, then a product by tiles.
struct Misuse {
  static constexpr const char* label = "misuse";
  Fault fault;
  float* x;
  float* y;
  float* host;  ///< not memory of the core group
  i64 lines, n;
  Buf in, out, small, tile_in, tile_in2, sum, foreign;

  template <class C>
  void operator()(C& c) const {
    switch (fault) {
      case Fault::keep_in_line: return each_line(c, [&](i64 i, auto&, auto&) { c.keep(small, x + i, 1); });
      case Fault::lines_in_lines:
        return each_line(c, [&](i64, auto&, auto&) { each_line(c, [](i64, auto&, auto&) {}); });
      case Fault::stale_input: return stale(c);
      case Fault::overwritten_keep: c.keep(in, x, n); return each_line(c, [](i64, auto&, auto&) {});
      default: break;
    }
    if (fault >= Fault::first_of_tiles) return tiles(c);
    if (fault >= Fault::first_of_memory) return memory(c);
    each_line(c, [&](i64, auto& line, auto& q) { in_line(c, line, q); });
  }

 private:
  template <class C, class Work>
  void each_line(C& c, Work work) const {
    c.lines(
        lines, Depth::one, [&](i64 i) { return c.get(in, x + i * n, n); },
        [&](i64 i, auto& line) {
          auto q = c.out(out, y + i * n, n);
          work(i, line, q);
          if (fault == Fault::never_put) return;
          if (fault != Fault::partly_set) c.each(n, [&](i64 j) { q.set(j, line[j] + 1.0f); });
          c.put(q);
          if (fault == Fault::set_after_put) c.each(n, [&](i64 j) { q.set(j, 0.0f); });
          if (fault == Fault::put_twice) c.put(q);
        });
  }

  template <class C, class Line, class Out>
  void in_line(C& c, Line& line, Out& q) const {
    const auto add = [](float a, float b) { return a + b; };
    i64 mine = 0;  // how many elements this lane has seen: not uniform
    switch (fault) {
      case Fault::read_out_of_range: return c.each(n, [&](i64 j) { q.set(j, line[j + 1]); });
      case Fault::set_out_of_range: return c.each(n + 1, [&](i64 j) { q.set(j, 0.0f); });
      case Fault::set_outside_loop: return q.set(0, 1.0f);
      case Fault::set_other_element: return c.each(n, [&](i64 j) { q.set(n - 1 - j, 1.0f); });
      case Fault::set_in_fold:
        c.fold(n, 0.0f, add, [&](i64 j) {
          q.set(j, 1.0f);
          return 1.0f;
        });
        return;
      case Fault::partly_set: return c.each(n - 1, [&](i64 j) { q.set(j, 1.0f); });
      case Fault::read_before_set: return c.each(n, [&](i64 j) { q.set(j, q.at(j)); });
      case Fault::get_in_loop: return c.each(n, [&](i64) { c.get(small, x, 1); });
      case Fault::loop_in_loop: return c.each(n, [&](i64) { c.each(n, [](i64) {}); });
      case Fault::lanes_differ_in_length: c.each(n, [&](i64) { ++mine; }); return c.each(mine, [](i64) {});
      case Fault::lanes_differ_in_flow:
        c.each(n, [&](i64 j) { mine = j; });
        if (mine == n - 1) c.once([] {});
        return;
      case Fault::lane_reads_what_other_sets:
        c.each(n, [&](i64 j) { q.set(j, 0.0f); });
        return c.each(n, [&](i64 j) { q.set(j, q.at(n - 1 - j)); });
      case Fault::lane_sets_what_other_read:
        c.each(n, [&](i64 j) { q.set(j, 0.0f); });
        return c.each(n, [&](i64 j) { q.set(j, q.at(j + 1 < n ? j + 1 : j)); });
      case Fault::uniform_read_before_set: {
        c.each(n, [&](i64 j) { q.set(j, 0.0f); });
        const float first = q.at(0);
        return c.each(n, [&](i64 j) { q.set(j, first); });
      }
      default: return;
    }
  }

  template <class C>
  void stale(C& c) const {
    c.pipeline(
        2, Depth::two, [&](i64 i) { return c.get(in, x + i * n, n); },
        [&](i64, auto& line) { c.each(n, [&](i64 j) { static_cast<void>(line[j]); }); });
  }

  template <class C>
  void memory(C& c) const {
    const auto copy = [&](auto& line, auto& q) {
      c.each(n, [&](i64 j) { q.set(j, line[j]); });
      c.put(q);
    };
    c.lines(
        lines, Depth::one, [](i64 i) { return i; },
        [&](i64 i, i64&) {
          switch (fault) {
            case Fault::beyond_booking: c.get(small, x, 33); return;
            case Fault::foreign_buf: c.get(foreign, x, 1); return;
            case Fault::tile_booking_for_line: c.get(tile_in, x, 1); return;
            case Fault::host_memory: c.get(in, host, n); return;
            case Fault::past_the_end: c.get(in, x + (lines - 1) * n + 1, n); return;
            case Fault::misaligned: c.get(small, reinterpret_cast<float*>(reinterpret_cast<char*>(x) + 2), 1); return;
            case Fault::reads_other_line: {
              auto line = c.get(in, x + (i + 1) % lines * n, n);
              auto q = c.out(out, x + i * n, n);
              return copy(line, q);
            }
            case Fault::two_lines_write: {
              auto line = c.get(in, x + i * n, n);
              auto q = c.out(out, y + i * (n - 1), n);
              return copy(line, q);
            }
            case Fault::partial_alias: {
              auto line = c.get(in, x + i * n, n - 1);
              auto q = c.out(out, x + i * n + 1, n - 1);
              return copy(line, q);
            }
            case Fault::read_after_aliased_set: {
              auto line = c.get(in, x + i * n, n);
              auto q = c.out(out, x + i * n, n);
              c.each(n, [&](i64 j) { q.set(j, 0.0f); });
              return copy(line, q);
            }
            case Fault::lane_reads_aliased: {
              auto line = c.get(in, x + i * n, n);
              auto q = c.out(out, x + i * n, n);
              c.each(n, [&](i64 j) { q.set(j, line[n - 1 - j]); });
              return c.put(q);
            }
            case Fault::two_outputs: {
              c.out(out, y + i * n, n);
              c.out(small, y + i * n, 1);
              return;
            }
            case Fault::slot_of_open_output: {
              c.out(out, y + i * n, n);
              c.out(out, x + i * n, n);
              return;
            }
            case Fault::overlapping_rows: c.out2d(out, y + i * n, 2, 3, 2); return;
            case Fault::turned_partly_set: {
              auto q = c.out_turned(tile_in, y + i * n, 1, 3, 1, 2);
              c.each(1, [&](i64 j) { q.set(0, j, 0.0f); });
              return c.put(q);
            }
            case Fault::turned_other_column: {
              auto q = c.out_turned(tile_in, y + i * n, 1, 3, 1, 2);
              return c.each(2, [&](i64 j) { q.set(0, 1 - j, 0.0f); });
            }
            case Fault::streamed_from_a_line: c.out_streamed(out, y + i * n, 1, 2, 2); return;
            case Fault::streamed_partly_set: {
              auto q = c.out_streamed(tile_in, y + i * n, 1, 2, 2);
              c.each(1, [&](i64 j) { q.set(0, j, 0.0f); });
              return c.put(q);
            }
            case Fault::staged_out_of_range: {
              auto block = c.stage(tile_in, Box<float>::matrix(x, lines, n, n, i, 0, 1, n));
              return c.each(n, [&](i64 j) { static_cast<void>(block(0, j + 1)); });
            }
            default: return;
          }
        });
  }

  template <class C>
  void tiles(C& c) const {
    c.tiles(lines, [&](i64 tile) {
      TileShape shape;
      shape.m = 2;
      shape.n0 = 2;
      shape.k = 2;
      auto acc = c.template acc<float>(sum, shape);
      if (fault >= Fault::block_out_of_range && fault <= Fault::view_beyond_block) return block(c, acc);
      const i64 columns = fault == Fault::box_outside_memory ? n * lines : n;
      auto a = c.stage_a(tile_in, Box<float>::matrix(x, 2, columns, columns, 0, columns - 2, 2, 2), LeftView{2, 1});
      auto b = c.stage_b(tile_in2, Box<float>::matrix(x, 2, 2, n, 0, 0, 2, 2), RightView{2, 0, 0, 1});
      if (fault == Fault::restaged_operand) c.stage_a(tile_in, Box<float>::matrix(x, 2, 2, n, 0, 0, 2, 2), LeftView{});
      Taps taps;
      if (fault == Fault::view_beyond_box) {
        taps.count0 = 2;
        taps.b0 = 1;
      }
      c.fma(acc, c.row_share(a, fault == Fault::wrong_share ? 1 : 0), c.col_share(b, 0), taps);
      OutBox<float> to;
      to.base = y + (fault == Fault::tiles_write_same ? 0 : tile * n);
      if (fault == Fault::store_over_staged_of_others) to.base = x + tile * 2;
      to.rows = 2;
      to.limit0 = 2;
      to.pitch_m = fault == Fault::store_outside_memory ? n * lines : 2;
      c.store(acc, to, [](float value, float, i64, i64) { return value; });
    });
  }

  template <class C, class Sums>
  void block(C& c, Sums& acc) const {
    auto block = c.template block<float>(tile_in, 2, 2);
    c.each(2, [&](i64 j) {
      if (fault == Fault::block_out_of_range) block.set(2, j, 1.0f);
      block.set(0, fault == Fault::block_other_column ? 1 - j : j, 1.0f);
      if (fault != Fault::block_partly_set) block.set(1, j, 1.0f);
    });
    auto b = c.stage_b(tile_in2, Box<float>::matrix(x, 2, 2, n, 0, 0, 2, 2), RightView{2, 0, 0, 1});
    Taps taps;
    if (fault == Fault::view_beyond_block) taps.count0 = 2, taps.a0 = 1;
    c.fma(acc, c.row_share(c.left(block, LeftView{2, 1}), 0), c.col_share(b, 0), taps);
  }
};

/// Writes down the order in which the fetches (f) and the works (w) of a pipeline happen, on the host.
struct OrderProbe {
  static constexpr const char* label = "order_probe";
  std::vector<std::string>* order;
  i64 n;
  Depth depth;
  bool lines;

  template <class C>
  void operator()(C& c) const {
    const auto fetch = [&](i64 i) {
      c.once([&] { order->push_back("f" + std::to_string(i)); });
      return i;
    };
    const auto work = [&](i64 i, i64& in) {
      c.once([&] { order->push_back("w" + std::to_string(i) + (in == i ? "" : " with another line")); });
    };
    if (lines)
      c.lines(n, depth, fetch, work);
    else
      c.pipeline(n, depth, fetch, work);
  }
};

/// y[0] = 2 x[0] - x[1] - x[2] ... from left to right, by an operation that is associative only roughly.
struct LeftFold {
  static constexpr const char* label = "left_fold";
  const float* x;
  float* y;
  i64 n;
  Buf in, out;

  template <class C>
  void operator()(C& c) const {
    c.lines(
        1, Depth::one, [&](i64) { return c.get(in, x, n); },
        [&](i64, auto& line) {
          const float sum = c.fold(
              line.n, 1.0f, [](float a, float b) { return a + b; }, [&](i64 j) { return line[j]; });
          auto q = c.out(out, y, 1);
          c.once([&] { q.set(0, sum); });
          c.put(q);
        });
  }
};

/// Marks which iterations of the lane loops ran how often, on the host: each over n in two parts, and a block of
/// 3 x n.
struct LanesProbe {
  static constexpr const char* label = "lanes_probe";
  int* each;   ///< n
  int* block;  ///< 3 x n
  i64 n;

  template <class C>
  void operator()(C& c) const {
    const auto mark = [&](i64 i) { ++each[i]; };
    c.each(Range{0, n / 2}, mark);
    c.each(Range{n / 2, n}, mark);
    c.each(Range{1, 1}, mark);
    c.each2d(3, n, [&](i64 r, i64 i) { ++block[r * n + i]; });
    c.each2d(Range{1, 1}, Range{0, n}, [&](i64, i64) { ++block[0]; });
  }
};

/// Fails in lines `first` and after with code 9.
struct FailAt {
  static constexpr const char* label = "fail_at";
  i64 lines, first;

  template <class C>
  void operator()(C& c) const {
    c.lines(
        lines, Depth::one, [](i64 i) { return i; },
        [&](i64 i, i64&) {
          if (i >= first) c.fail(9, i);
        });
  }
};

}  // namespace cortado::test
