#pragma once
#include <string>
#include <vector>

namespace cortado {

/// An axis of a chart: the values between its ends, and the marks on it.
class Axis {
 public:
  /// Takes values from `low` to `high`. A logarithmic axis passes over values that are not positive; linear ones reach
  /// to the next mark. Equal ends get room around them.
  Axis(double low, double high, bool is_log);

  bool is_log() const { return is_log_; }
  /// From 0 at the low end to 1 at the high end; outside beyond them.
  double at(double value) const;
  double low() const { return low_; }
  double high() const { return high_; }
  const std::vector<double>& marks() const { return marks_; }

 private:
  void mark_linear();
  void mark_log();

  double low_, high_;
  bool is_log_;
  std::vector<double> marks_;
};

}  // namespace cortado
