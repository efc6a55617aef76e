#pragma once
#include <functional>

#include "core/machine/planned.h"
#include "layers/convolution/shape.h"
#include "layers/convolution/winograd/phase_programs.h"

namespace cortado {

inline bool is_strided(const ConvolutionShape& s) { return s.sh > 1 || s.sw > 1; }
Phases phases_of(const ConvolutionShape& s);
/// The convolution at stride 1, without padding, that makes the same outputs of the planes of phases.
ConvolutionShape shape_of_phases(const ConvolutionShape& s);

/// Queues making the planes of phases of some images, images x (ic sh sw) x height x width, of the shape's precision.
using MakePhases = std::function<void(CoreGroup&, const void* x, void* to)>;
/// Plans the phases of `images` images. If a plan does not fit a scratchpad, `refused` gets the reason, as in
/// `planned`.
MakePhases plan_phases(const MachineSpec& spec, const ConvolutionShape& s, i64 images, std::string& refused);

/// Moves weights, oc x (ic/g) x kh x kw, to those of phases, zeros between, and their gradients back.
struct PhasesOfWeightsPlan {
  Planned<PhasesOfWeights<false>> there;
  Planned<PhasesOfWeights<true>> back;
  void to_phases(CoreGroup& group, const float* weights, float* to) const;
  /// dw += gradients.
  void add_from_phases(CoreGroup& group, const float* gradients, float* dw) const;
};
PhasesOfWeightsPlan plan_phases_of_weights(const MachineSpec& spec, const ConvolutionShape& s, std::string& refused);

}  // namespace cortado
