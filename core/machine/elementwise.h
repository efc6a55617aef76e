#pragma once
#include "core/machine/gather.h"
#include "core/machine/row_lines.h"

/// Programs that make every element of an array from the same element of others. A folder writes the function alone:
///
///   struct Product {
///     static constexpr const char* label = "product";  // what profilers and errors show
///     template <class V>
///     CORTADO_FN auto operator()(V a, V b) const { return a * b; }
///   };
///
/// lists Elementwise<Product, To<float>, From<float, float>> in its CMakeLists.txt, and calls
/// elementwise(group, n, Product{}, from(a, b), to(y)) (core/machine/launch_elementwise.h).
namespace cortado {

// What a function may be given beside the elements of arrays, which From<...> lists by their type.

/// The value at `value`, in cluster memory, for all elements.
template <class T>
struct One {
  const T* value;
  Buf buf;
};
/// values[row % period].
template <class T>
struct PerRow {
  const T* values;
  i64 period;
  Buf buf;
};
/// values[column].
template <class T>
struct PerColumn {
  const T* values;
  Buf buf;
};
/// An array whose rows begin `pitch` values apart.
template <class T>
struct Pitched {
  const T* values;
  i64 pitch;
  Buf buf;
};
/// The element's number: `first` and the place in the array.
struct Numbers {
  i64 first;
};
/// The element's column.
struct Columns {};

namespace elements {

/// Reads the same for every element.
template <class T>
struct Constant {
  T value;
  CORTADO_FN T operator[](i64) const { return value; }
};
/// Reads the element's number.
struct Counter {
  i64 first;
  CORTADO_FN i64 operator[](i64 j) const { return first + j; }
};

/// A line of one value, which every element reads.
template <class T, class Line>
struct Single {
  Line line;
};

/// Makes of a fetched line what the lanes read by element. The line's type alone decides: where nvcc expands a captured
/// pack of sources beside a pack of lines, it takes the last source for every line.
template <class Line>
CORTADO_FN Line reader(const Line& line) {
  return line;
}
template <class T, class Line>
CORTADO_FN Constant<T> reader(const Single<T, Line>& single) {
  return {static_cast<T>(single.line[0])};
}

// Sources tell how each kind comes in. ready() is called once, before the first line; fetch() for every line.

template <class Kind>
struct Source {
  const Kind* array;
  Buf buf;
  template <class C>
  CORTADO_FN Source ready(C&) const {
    return *this;
  }
  template <class C>
  CORTADO_FN auto fetch(C& c, const RowLines& rows, i64 line) const {
    return c.get(buf, array + rows.at(line), rows.count(line));
  }
};
/// A value that does not change from line to line.
template <class T>
struct Known {
  T value;
  template <class C>
  CORTADO_FN Constant<T> fetch(C&, const RowLines&, i64) const {
    return {value};
  }
};
template <class T>
struct Source<One<T>> {
  One<T> one;
  template <class C>
  CORTADO_FN Known<T> ready(C& c) const {
    return {static_cast<T>(c.keep(one.buf, one.value, 1)[0])};
  }
};
template <class T>
struct Source<PerRow<T>> {
  PerRow<T> of;
  template <class C>
  CORTADO_FN Source ready(C&) const {
    return *this;
  }
  template <class C>
  CORTADO_FN auto fetch(C& c, const RowLines& rows, i64 line) const {
    auto single = c.get(of.buf, of.values + rows.row(line) % of.period, 1);
    return Single<T, decltype(single)>{single};
  }
};
template <class T>
struct Source<PerColumn<T>> {
  PerColumn<T> of;
  template <class C>
  CORTADO_FN Source ready(C&) const {
    return *this;
  }
  template <class C>
  CORTADO_FN auto fetch(C& c, const RowLines& rows, i64 line) const {
    return c.get(of.buf, of.values + rows.first(line), rows.count(line));
  }
};
template <class T>
struct Source<Pitched<T>> {
  Pitched<T> of;
  template <class C>
  CORTADO_FN Source ready(C&) const {
    return *this;
  }
  template <class C>
  CORTADO_FN auto fetch(C& c, const RowLines& rows, i64 line) const {
    return c.get(of.buf, of.values + rows.row(line) * of.pitch + rows.first(line), rows.count(line));
  }
};
template <>
struct Source<Numbers> {
  Numbers numbers;
  template <class C>
  CORTADO_FN Source ready(C&) const {
    return *this;
  }
  template <class C>
  CORTADO_FN Counter fetch(C&, const RowLines& rows, i64 line) const {
    return {numbers.first + rows.at(line)};
  }
};
template <>
struct Source<Columns> {
  template <class C>
  CORTADO_FN Source ready(C&) const {
    return *this;
  }
  template <class C>
  CORTADO_FN Counter fetch(C&, const RowLines& rows, i64 line) const {
    return {rows.first(line)};
  }
};

}  // namespace elements

/// A function's arguments, in order: T for the elements of an array of T, or one of the kinds above.
template <class... Kinds>
struct From {
  Gathered<elements::Source<Kinds>...> sources;
};

/// The destination of its results: one array, or two, whose values a function returns as Two.
template <class... T>
struct To;
template <class T>
struct To<T> {
  T* array;
  Buf buf;
};
template <class T, class U>
struct To<T, U> {
  T* array;
  U* second;
  Buf buf, second_buf;
};
template <class V, class W = V>
struct Two {
  V first;
  W second;
};

/// to = f(from...), element by element. An array of `to` may be one of `from`.
template <class F, class Results, class Arguments>
struct Elementwise {
  static constexpr const char* label = F::label;
  F f;
  RowLines rows;
  Results to;
  Arguments from;

  template <class C>
  CORTADO_FN void operator()(C& c) const {
    auto sources = from.sources;
    sources.apply([&](auto&... source) { run(c, source.ready(c)...); });
  }

 private:
  template <class C, class... Sources>
  CORTADO_FN void run(C& c, const Sources... source) const {
    const Elementwise p = *this;
    c.lines(
        p.rows.lines(), Depth::two, [&](i64 i) { return gather(source.fetch(c, p.rows, i)...); },
        [&](i64 i, auto& in) {
          in.apply([&](auto&... line) { write(c, p.f, p.rows, i, p.to, elements::reader(line)...); });
        });
  }

  template <class C, class T, class... Readers>
  CORTADO_FN static void write(C& c, const F f, const RowLines& rows, i64 i, const To<T>& to, const Readers... x) {
    auto y = c.out(to.buf, to.array + rows.at(i), rows.count(i));
    c.each(y.n, [&](i64 j) { y.set(j, f(x[j]...)); });
    c.put(y);
  }
  template <class C, class T, class U, class... Readers>
  CORTADO_FN static void write(C& c, const F f, const RowLines& rows, i64 i, const To<T, U>& to, const Readers... x) {
    auto y = c.out(to.buf, to.array + rows.at(i), rows.count(i));
    auto z = c.out(to.second_buf, to.second + rows.at(i), rows.count(i));
    c.each(y.n, [&](i64 j) {
      const auto values = f(x[j]...);
      y.set(j, values.first);
      z.set(j, values.second);
    });
    c.put(y);
    c.put(z);
  }
};

}  // namespace cortado
