#pragma once
#include "core/machine/core_group.h"
#include "core/machine/elementwise.h"

namespace cortado {
namespace elements {

// The source of an argument, and the bookings of sources: how many whole lines each takes.

template <class T>
Source<T> source(const T* array) {
  return {array, {}};
}
template <class T>
Source<One<T>> source(One<T> one) {
  return {one};
}
template <class T>
Source<PerRow<T>> source(PerRow<T> values) {
  return {values};
}
template <class T>
Source<PerColumn<T>> source(PerColumn<T> values) {
  return {values};
}
template <class T>
Source<Pitched<T>> source(Pitched<T> rows) {
  return {rows};
}
inline Source<Numbers> source(Numbers numbers) { return {numbers}; }
inline Source<Columns> source(Columns) { return {}; }

template <class T>
void book(PlanBuilder& builder, Source<T>& source, i64 block) {
  source.buf = builder.line<T>("argument", block, Depth::two);
}
template <class T>
void book(PlanBuilder& builder, Source<PerColumn<T>>& source, i64 block) {
  source.of.buf = builder.line<T>("values of columns", block, Depth::two);
}
template <class T>
void book(PlanBuilder& builder, Source<PerRow<T>>& source, i64 /*block*/) {
  source.of.buf = builder.line<T>("value of the row", 1, Depth::two);
}
template <class T>
void book(PlanBuilder& builder, Source<One<T>>& source, i64 /*block*/) {
  source.one.buf = builder.line<T>("value", 1, 1);
}
template <class T>
void book(PlanBuilder& builder, Source<Pitched<T>>& source, i64 block) {
  source.of.buf = builder.line<T>("argument", block, Depth::two);
}
inline void book(PlanBuilder&, Source<Numbers>&, i64) {}
inline void book(PlanBuilder&, Source<Columns>&, i64) {}

template <class T>
void book(PlanBuilder& builder, To<T>& to, i64 block) {
  to.buf = builder.line<T>("result", block, 1);
}
template <class T, class U>
void book(PlanBuilder& builder, To<T, U>& to, i64 block) {
  to.buf = builder.line<T>("result", block, 1);
  to.second_buf = builder.line<U>("second result", block, 1);
}

template <class Kind>
struct KindOf;
template <class Kind>
struct KindOf<Source<Kind>> {
  using type = Kind;
};

}  // namespace elements

/// Arguments of an elementwise function: arrays in cluster memory, pitched(p, pitch), one(p), per_row(p, period),
/// per_column(p), Numbers{first}, Columns{}.
template <class... Arguments>
auto from(Arguments... arguments) {
  return From<typename elements::KindOf<decltype(elements::source(arguments))>::type...>{
      gather(elements::source(arguments)...)};
}
template <class T>
Pitched<T> pitched(const T* values, i64 pitch) {
  return {values, pitch, {}};
}
template <class T>
One<T> one(const T* value) {
  return {value, {}};
}
template <class T>
PerRow<T> per_row(const T* values, i64 period) {
  return {values, period, {}};
}
template <class T>
PerColumn<T> per_column(const T* values) {
  return {values, {}};
}

/// The destination of its results.
template <class T>
To<T> to(T* array) {
  return {array, {}};
}
template <class T, class U>
To<T, U> to(T* array, U* second) {
  return {array, second, {}, {}};
}

/// Queues to = f(from...) for `rows` rows of `width` elements.
template <class F, class... Results, class... Kinds>
void elementwise(CoreGroup& group, i64 rows, i64 width, const F& f, From<Kinds...> from, To<Results...> to) {
  constexpr int buffers = 2 * sizeof...(Kinds) + sizeof...(Results);
  const RowLines lines{rows, width, line_elements(group.spec(), width, buffers)};
  PlanBuilder builder(group.spec());
  from.sources.apply([&](auto&... source) { (elements::book(builder, source, lines.block), ...); });
  elements::book(builder, to, lines.block);
  group.launch(Elementwise<F, To<Results...>, From<Kinds...>>{f, lines, to, from}, builder.plan(lines.lines()));
}

/// The same for n elements that follow each other.
template <class F, class... Results, class... Kinds>
void elementwise(CoreGroup& group, i64 n, const F& f, From<Kinds...> from, To<Results...> to) {
  elementwise(group, 1, n, f, from, to);
}

}  // namespace cortado
