#pragma once
#include "layers/convolution/candidates.h"

namespace cortado {

/// The groups of the shape that make one where groups are merged: the fewest that fill whole blocks of channels; in
/// planes the most that share a vector of sixteen channels. 1 if groups stay as they are.
i64 groups_to_merge(const ConvolutionShape& shape);

/// A plan of `make` for the shape with merged groups (README.md beside this file), between programs that spread the
/// weights or gather their gradient. Where groups stay as they are, the plan of `make` itself.
ConvolutionPlan plan_merged(CoreGroup& group, const ConvolutionShape& shape, ConvolutionDirection direction,
                            const ConvolutionCandidate::Planner& make);

}  // namespace cortado
