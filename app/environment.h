#pragma once

namespace cortado {

/// Settles what runtimes read when they are loaded, by starting the program again with the environment completed, once.
/// What the user set stays.
///   OMP_WAIT_POLICY=passive      where several ranks share a node: threads that spin on shared cores take the time of
///                                those that work
///   OPENBLAS_CORETYPE=SkylakeX   on AMD processors with AVX-512, for which OpenBLAS before 0.3.22 chooses AVX2 kernels
///                                of half the speed
void settle_environment(char** arguments);

}  // namespace cortado
