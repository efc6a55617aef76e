#pragma once
#include "core/machine/machine_spec.h"
#include "core/machine/program.h"

namespace cortado {

/// An analytic model of a machine whose CPEs work out of scratchpads, from its spec alone: what planners rank tile
/// sizes by. It knows rates and start-ups, not who waits for whom; docs/design/sunway-model.md says how far it is from
/// the simulator.

/// True if the spec has the model's numbers.
bool is_modelled(const MachineSpec& spec);

/// Seconds that `count` transfers of `bytes` contiguous bytes each occupy a core group's memory.
double transfer_seconds(const MachineSpec& spec, double count, double bytes);

/// The same for blocks that are put, where memory writes whole requests.
double put_seconds(const MachineSpec& spec, double count, double bytes);

/// Seconds of one `fma` of a CPE: `taps` kernel positions of the shape, vectors along n0.
double multiply_seconds(const MachineSpec& spec, const TileShape& shape, double taps);

/// Seconds in which a mesh multiplies what its CPEs share, a step for each of its columns. A CPE shares `bytes` of
/// operands; where they come into receive slots, those of a step come while the step before is multiplied.
double shared_multiply_seconds(const MachineSpec& spec, const TileShape& shape, double taps, double bytes);

/// Seconds in which a CPE copies `elements` of an operand to what the machine multiplies; 0 where it need not.
double widen_seconds(const MachineSpec& spec, double elements, i64 element_bytes);

/// Sizes worth trying for a tile when `extent` is cut over `parts` CPEs and may be cut further: multiples of `unit`,
/// the largest first, none above `most`.
std::vector<i64> tile_sizes(i64 extent, i64 parts, i64 unit, i64 most);

}  // namespace cortado
