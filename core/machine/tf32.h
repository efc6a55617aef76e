#pragma once

namespace cortado {

/// Which products of floats may be of operands rounded to TF32 (11 bits), which tensor cores of GPUs multiply. `all`
/// are those of matrices, too.
enum class Tf32 { none, convolutions, all };

}  // namespace cortado
