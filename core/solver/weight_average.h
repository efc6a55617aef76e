#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "core/net/net.h"

namespace cortado {

/// The moving average a of a net's learnable values w on this rank, running statistics among them:
///   a = decay a + (1 - decay) w,   after every iteration
/// An iteration reads two floats and writes one for each value. The exchange with the net reads and writes two.
class WeightAverage {
 public:
  /// Borrows both. The average begins as the net's values.
  WeightAverage(Net& net, CoreGroup& group, float decay);

  /// Makes the average the net's values.
  void begin();
  /// Takes the net's values into the average. It does not wait.
  void take();

  /// While it lives, the net holds the average, and what is written to the net becomes the average. Afterwards the net
  /// holds its own values again.
  class Shown {
   public:
    explicit Shown(WeightAverage& average) : average_(average) { average_.swap(); }
    ~Shown() { average_.swap(); }
    Shown(const Shown&) = delete;
    Shown& operator=(const Shown&) = delete;

   private:
    WeightAverage& average_;
  };

 private:
  /// Neighbouring values of the net, and their average.
  struct Part {
    float *values, *average;
    i64 count;
  };
  /// The arena, and every shard.
  std::vector<Part> parts() const;
  void swap();

  Net& net_;
  CoreGroup& group_;
  const float decay_;
  std::vector<std::pair<Blob*, std::shared_ptr<Storage>>> shards_;
  std::shared_ptr<Storage> arena_;
};

}  // namespace cortado
