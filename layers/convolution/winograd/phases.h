#pragma once
#include "core/machine/core_group.h"
#include "layers/convolution/shape.h"
#include "layers/convolution/winograd/phase_programs.h"

namespace cortado {

inline bool is_strided(const ConvolutionShape& s) { return s.sh > 1 || s.sw > 1; }
Phases phases_of(const ConvolutionShape& s);
/// The convolution at stride 1, without padding, that makes the same outputs of the planes of phases.
ConvolutionShape shape_of_phases(const ConvolutionShape& s);

/// Queues making the planes of phases, images x (ic sh sw) x height x width, of so many images of T.
template <class T>
void make_phases(CoreGroup& group, const ConvolutionShape& s, i64 images, const T* x, T* to);
/// Queues moving weights, oc x (ic/g) x kh x kw, to those of phases, zeros between.
void weights_to_phases(CoreGroup& group, const ConvolutionShape& s, const float* weights, float* to);
/// Queues dw += the gradients of phases' weights.
void add_from_phases(CoreGroup& group, const ConvolutionShape& s, const float* gradients, float* dw);

}  // namespace cortado
