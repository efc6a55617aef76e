#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <variant>

#include "core/machine/rectify.h"
#include "core/tensor/blob.h"

// One layer does another's work, and neither knows the other. A layer says what it computes (Traits). A pass turns that
// into work (Epilogue) and offers it to the layer before (Layer::accept).
namespace cortado {

/// y = scale[c] x + bias[c] for all values of channel c (axis 1), by blobs that a layer learns.
struct AffineMap {
  Blob* scale = nullptr;  ///< one value for each channel
  Blob* bias = nullptr;   ///< likewise; nullptr means no bias
  bool learns_scale = false, learns_bias = false;

  /// The gradient to add to; nullptr means that nobody wants it.
  float* scale_gradient() const { return learns_scale ? scale->mutable_diff() : nullptr; }
  float* bias_gradient() const { return bias != nullptr && learns_bias ? bias->mutable_diff() : nullptr; }
};

/// Sums over a blob in blocks of channels. The layer that makes the blob writes them for the layer that reads it next:
///
///    first   part 0: [sum of values  | channels] [sum of squares | channels]
///            part 1: [sum of values  | channels] [sum of squares | channels] ...
struct ChannelSums {
  bool are_wanted = false;       ///< the reader's next forward uses them
  const float* first = nullptr;  ///< [part][2][channels]: of values, of their squares
  i64 parts = 0;                 ///< parts written in this forward; 0 means that the reader sums by itself
};

namespace epilogue {

/// After forward, y = rectify(scale[c] x + bias[c]) for what the layer computes, x. Parameters alone decide scale and
/// bias. Nobody runs backward.
struct FixedMap {
  struct Values {
    const float *scale, *bias;  ///< one value for each channel
  };
  std::function<Values()> values;  ///< queues what makes the values, unless they are made; called in each forward
  Rectify rectify;
};

}  // namespace epilogue

/// A layer's computation, as far as another layer can do it.
struct Traits {
  std::optional<Rectify> rectifier;  ///< y = rectifier(x)
  std::optional<AffineMap> affine;   ///< y = scale x + bias
  bool is_sum_of_two = false;        ///< y = a + b, its bottoms
  bool is_split = false;             ///< tops share the bottom's values, whose gradient is the sum of the tops'
  ChannelSums* sums = nullptr;       ///< forward reads these sums, if they are of its bottom
  std::optional<epilogue::FixedMap> fixed_map;  ///< forward is this map of its bottom
};

/// A layer that has accepted one of these does its work besides its own.
namespace epilogue {

/// After forward, y is the map `by` of what the layer computes. Backward adds to the gradients of the map's blobs.
struct ScaleAndBias {
  AffineMap by;
  bool all_propagate;  ///< backward, if it runs, makes the gradients of all bottoms
};

/// After forward, y is rectified. The slope is not negative, so y has the sign of the value before.
struct Rectifier {
  Rectify by;
  bool all_propagate;  ///< as in ScaleAndBias
  bool runs_backward;  ///< somebody may
  /// Backward can tell from y where the gradient passes.
  bool shows_in_result() const { return by.limit == Rectify::no_limit && by.below == 0; }
};

/// The layer has another bottom, the last, and a top of its own in place of the bottom in which it worked. After
/// forward, y is the rectified sum of the layer's result and that bottom; slope 1 leaves the sum as it is. Backward
/// makes the added bottom's gradient too. A layer that accepts Sum accepts JoinedGradient.
struct Sum {
  float slope = 1;
};

/// After forward, `sums` holds sums over the top, if they are wanted.
struct TopSums {
  ChannelSums* sums;
};

/// Backward has `count` tops. They share the values of the layer's only top, and their gradients add up to its
/// gradient.
struct GradientSum {
  std::size_t count;
};

/// Backward does not write the gradient dx of the only bottom x. It adds dx to the gradient of `other`. The sum counts
/// `slope` times where x is not positive.
struct JoinGradient {
  Blob* other;
  float slope;
};

/// Before backward, the last bottom has its gradient.
struct JoinedGradient {};

}  // namespace epilogue

using Epilogue =
    std::variant<epilogue::ScaleAndBias, epilogue::Rectifier, epilogue::Sum, epilogue::TopSums, epilogue::GradientSum,
                 epilogue::JoinGradient, epilogue::JoinedGradient, epilogue::FixedMap>;

}  // namespace cortado
