#pragma once
// Numbers that count what is done with them: the elements of lines inside programs on the simulator, so that the cost
// of a lane loop is that of its own source. Included before any program, so that these overloads of core/machine/math.h
// are found.
#include <type_traits>

#include "backends/sunway/port.h"
#include "core/machine/math.h"

namespace cortado::sunway {

/// The operations of the lane loop's iteration so far.
extern thread_local port_operations tally;

/// Ends the launch with an error if a transfer to or from this place of the scratchpad has not arrived.
extern thread_local const char* in_flight_low;
extern thread_local const char* in_flight_high;
void check_arrived(const void* p, bool write);

template <class T>
class CountedValue {
 public:
  CountedValue() = default;
  explicit CountedValue(T value) : value_(value) {}
  CountedValue& operator=(T value) {
    value_ = value;
    return *this;
  }
  operator T() const { return value_; }

  CountedValue operator-() const { return did(-value_); }
  static CountedValue did(T value) {
    ++tally.arithmetic;
    return CountedValue(value);
  }

 private:
  T value_ = T();
};

template <class T>
using Value = CountedValue<T>;

template <class T>
struct IsCounted : std::false_type {};
template <class T>
struct IsCounted<CountedValue<T>> : std::true_type {};
template <class T>
struct Plain {
  using type = T;
};
template <class T>
struct Plain<CountedValue<T>> {
  using type = T;
};
template <class T>
using PlainType = typename Plain<T>::type;

/// Two numbers, at least one of them counted.
template <class A, class B>
using CountedOf =
    std::enable_if_t<(IsCounted<A>::value || IsCounted<B>::value) && std::is_arithmetic<PlainType<A>>::value &&
                         std::is_arithmetic<PlainType<B>>::value,
                     CountedValue<std::common_type_t<PlainType<A>, PlainType<B>>>>;
template <class T>
PlainType<T> plain(T value) {
  return static_cast<PlainType<T>>(value);
}

/// `a` as the type that it and a B have in common.
template <class A, class B>
std::common_type_t<PlainType<A>, PlainType<B>> common(A a) {
  return static_cast<std::common_type_t<PlainType<A>, PlainType<B>>>(plain(a));
}

template <class A, class B>
CountedOf<A, B> operator+(A a, B b) {
  return CountedOf<A, B>::did(plain(a) + plain(b));
}
template <class A, class B>
CountedOf<A, B> operator-(A a, B b) {
  return CountedOf<A, B>::did(plain(a) - plain(b));
}
template <class A, class B>
CountedOf<A, B> operator*(A a, B b) {
  return CountedOf<A, B>::did(plain(a) * plain(b));
}
template <class A, class B>
CountedOf<A, B> operator/(A a, B b) {
  ++tally.divisions;
  return CountedOf<A, B>(plain(a) / plain(b));
}
template <class A, class B, class = CountedOf<A, B>>
bool operator<(A a, B b) {
  ++tally.arithmetic;
  return common<A, B>(a) < common<B, A>(b);
}
template <class A, class B, class = CountedOf<A, B>>
bool operator>(A a, B b) {
  return b < a;
}
template <class A, class B, class = CountedOf<A, B>>
bool operator<=(A a, B b) {
  ++tally.arithmetic;
  return common<A, B>(a) <= common<B, A>(b);
}
template <class A, class B, class = CountedOf<A, B>>
bool operator>=(A a, B b) {
  return b <= a;
}
template <class A, class B, class = CountedOf<A, B>>
bool operator==(A a, B b) {
  ++tally.arithmetic;
  return common<A, B>(a) == common<B, A>(b);
}
template <class A, class B, class = CountedOf<A, B>>
bool operator!=(A a, B b) {
  return !(a == b);
}
template <class T, class B>
CountedValue<T>& operator+=(CountedValue<T>& a, B b) {
  return a = CountedValue<T>::did(static_cast<T>(plain(a) + plain(b)));
}

// Words.
template <class A, class B>
CountedOf<A, B> operator|(A a, B b) {
  return CountedOf<A, B>::did(plain(a) | plain(b));
}
template <class A, class B>
CountedOf<A, B> operator&(A a, B b) {
  return CountedOf<A, B>::did(plain(a) & plain(b));
}
template <class T>
CountedValue<T> operator~(CountedValue<T> a) {
  return CountedValue<T>::did(~plain(a));
}
template <class T, class B, class = std::enable_if_t<std::is_integral<B>::value>>
CountedValue<T> operator<<(CountedValue<T> a, B by) {
  return CountedValue<T>::did(plain(a) << by);
}
template <class T, class B, class = std::enable_if_t<std::is_integral<B>::value>>
CountedValue<T> operator>>(CountedValue<T> a, B by) {
  return CountedValue<T>::did(plain(a) >> by);
}

template <class T>
Value<T> load(const T* p) {
  ++tally.loads;
  const auto* const at = reinterpret_cast<const char*>(p);
  if (at < in_flight_high && at >= in_flight_low) check_arrived(p, false);
  return Value<T>(*p);
}
template <class T>
void store(T* p, T value) {
  ++tally.stores;
  auto* const at = reinterpret_cast<const char*>(p);
  if (at < in_flight_high && at >= in_flight_low) check_arrived(p, true);
  *p = value;
}

}  // namespace cortado::sunway

namespace cortado::math {

template <class A, class B>
sunway::CountedOf<A, B> select(bool condition, A yes, B no) {
  using R = sunway::CountedOf<A, B>;
  return R::did(condition ? sunway::plain(yes) : sunway::plain(no));
}
template <class A, class B>
sunway::CountedOf<A, B> min(A a, B b) {
  return sunway::CountedOf<A, B>::did(min(sunway::plain(a), sunway::plain(b)));
}
template <class A, class B>
sunway::CountedOf<A, B> max(A a, B b) {
  return sunway::CountedOf<A, B>::did(max(sunway::plain(a), sunway::plain(b)));
}

/// Operations of the polynomials in core/machine/math.h.
constexpr int exp_operations = 21, log_operations = 27, pow_operations = 62;

inline sunway::CountedValue<float> counted_function(float value, int arithmetic, int divisions) {
  sunway::tally.arithmetic += arithmetic;
  sunway::tally.divisions += divisions;
  return sunway::CountedValue<float>(value);
}
inline sunway::CountedValue<float> exp(sunway::CountedValue<float> x) {
  return counted_function(exp(sunway::plain(x)), exp_operations, 0);
}
inline sunway::CountedValue<float> log(sunway::CountedValue<float> x) {
  return counted_function(log(sunway::plain(x)), log_operations, 1);
}
inline sunway::CountedValue<float> pow(sunway::CountedValue<float> x, float y) {
  return counted_function(pow(sunway::plain(x), y), pow_operations, 2);
}
inline sunway::CountedValue<std::uint32_t> bits_of(sunway::CountedValue<float> x) {
  return sunway::CountedValue<std::uint32_t>(bits_of(sunway::plain(x)));  // the same register
}
inline sunway::CountedValue<float> float_of(sunway::CountedValue<std::uint32_t> bits) {
  return sunway::CountedValue<float>(float_of(sunway::plain(bits)));
}
inline sunway::CountedValue<std::uint32_t> truncate(sunway::CountedValue<float> x) {
  return sunway::CountedValue<std::uint32_t>::did(truncate(sunway::plain(x)));
}
inline sunway::CountedValue<float> as_float(sunway::CountedValue<std::uint32_t> word) {
  return sunway::CountedValue<float>::did(as_float(sunway::plain(word)));
}
inline sunway::CountedValue<float> sqrt(sunway::CountedValue<float> x) {
  return counted_function(sqrt(sunway::plain(x)), 0, 1);
}
inline sunway::CountedValue<float> abs(sunway::CountedValue<float> x) {
  return counted_function(abs(sunway::plain(x)), 1, 0);
}

}  // namespace cortado::math
