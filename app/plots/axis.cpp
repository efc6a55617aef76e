#include "app/plots/axis.h"

#include <algorithm>
#include <cmath>

namespace cortado {
namespace {
constexpr int most_marks = 6;

/// The smallest of 1, 2, 5, 10, 20, ... times a power of ten that divides the span into few enough parts.
double step_for(double span) {
  const double power = std::pow(10.0, std::floor(std::log10(span / most_marks)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (span / (factor * power) <= most_marks) return factor * power;
  return 10 * power;
}
}  // namespace

Axis::Axis(double low, double high, bool is_log) : low_(low), high_(high), is_log_(is_log) {
  if (is_log_) {
    if (high_ <= low_ * 1.02) {
      low_ /= 1.5;
      high_ *= 1.5;
    }
    mark_log();
    return;
  }
  if (high_ - low_ <= 1e-9 * std::max(std::abs(high_), std::abs(low_))) {
    const double room = high_ == 0 ? 1 : std::abs(high_) / 2;
    low_ -= low_ == 0 ? 0 : room;
    high_ += room;
  }
  mark_linear();
}

double Axis::at(double value) const {
  if (!is_log_) return (value - low_) / (high_ - low_);
  return std::log(value / low_) / std::log(high_ / low_);
}

void Axis::mark_linear() {
  const double step = step_for(high_ - low_);
  for (double k = std::ceil(low_ / step - 1e-9); k * step <= high_ + 1e-9 * step; ++k)
    marks_.push_back(k * step + 0.0);  // no -0
}

/// Powers of ten, with 2 and 5 times them where there are few.
void Axis::mark_log() {
  const double decades = std::log10(high_ / low_);
  if (decades < 0.7) {  // such a short one is nearly linear
    mark_linear();
    return;
  }
  const int stride = std::max(1, static_cast<int>(std::ceil(decades / most_marks)));
  for (int power = static_cast<int>(std::floor(std::log10(low_)));
       power <= static_cast<int>(std::ceil(std::log10(high_))); ++power)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double mark = factor * std::pow(10.0, power);
      const bool wanted = factor == 1 ? power % stride == 0 : decades < 2.5;
      if (wanted && mark >= low_ * 0.999 && mark <= high_ * 1.001) marks_.push_back(mark);
    }
}

}  // namespace cortado
