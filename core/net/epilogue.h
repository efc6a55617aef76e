#pragma once
#include <cstddef>
#include <optional>
#include <variant>

#include "core/tensor/blob.h"

// How one layer does another's work without either knowing the other: a layer says what it computes (Traits), a pass
// turns that into work (Epilogue), and offers it to the layer before (Layer::accept).
namespace cortado {

/// y = scale[c] x + bias[c] for all values of channel c (axis 1), by blobs that a layer learns.
struct AffineMap {
  Blob* scale = nullptr;  ///< one value for each channel
  Blob* bias = nullptr;   ///< likewise; nullptr means no bias
  bool learns_scale = false, learns_bias = false;

  /// Where to add gradients; nullptr means that they are not wanted.
  float* scale_gradient() const { return learns_scale ? scale->mutable_diff() : nullptr; }
  float* bias_gradient() const { return bias != nullptr && learns_bias ? bias->mutable_diff() : nullptr; }
};

/// Sums over a blob in blocks of channels. The layer that makes the blob leaves them for the one that reads it next.
struct ChannelSums {
  bool are_wanted = false;       ///< the reader's next forward has use for them
  const float* first = nullptr;  ///< [part][of values, of their squares][channels]
  i64 parts = 0;                 ///< in this forward; 0 means that the reader takes the sums itself
};

/// What a layer computes, as far as another layer can do it.
struct Traits {
  std::optional<float> rectifier;   ///< y = x where x > 0, this times x elsewhere
  std::optional<AffineMap> affine;  ///< y = scale x + bias
  bool is_sum_of_two = false;       ///< y = a + b, its bottoms
  bool is_split = false;            ///< tops share the bottom's values, whose gradient is the sum of the tops'
  ChannelSums* sums = nullptr;      ///< forward reads them, if they are of its bottom
};

/// Work that a layer does besides its own, once it has accepted it.
namespace epilogue {

/// After forward, y is `by` of what the layer computes. Backward adds to the gradients of its blobs.
struct Affine {
  AffineMap by;
  bool all_propagate;  ///< backward, if it runs, is asked for the gradients of all bottoms
};

/// After forward, y is rectified. `slope` is not negative, so y has the sign of what was rectified.
struct Rectifier {
  float slope;
  bool all_propagate;  ///< as in Affine
};

/// The layer gets another bottom, the last, which is added to y, and a top of its own in place of the bottom in which
/// it worked. The sum is rectified; slope 1 means that it is not. Backward makes the added bottom's gradient too. Who
/// accepts this accepts JoinedGradient.
struct Sum {
  float slope = 1;
};

/// Forward leaves sums over its top where they are wanted.
struct TopSums {
  ChannelSums* sums;
};

/// Backward gets `count` tops, which share the values of the layer's only top and whose gradients add up to its own.
struct GradientSum {
  std::size_t count;
};

/// Backward does not write the gradient dx of its only bottom x. It adds dx to the gradient of `other`, and multiplies
/// the sum by `slope` where x is not positive.
struct JoinGradient {
  Blob* other;
  float slope;
};

/// When backward begins, the gradient of the last bottom is there.
struct JoinedGradient {};

}  // namespace epilogue

using Epilogue = std::variant<epilogue::Affine, epilogue::Rectifier, epilogue::Sum, epilogue::TopSums,
                              epilogue::GradientSum, epilogue::JoinGradient, epilogue::JoinedGradient>;

}  // namespace cortado
