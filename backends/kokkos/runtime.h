#pragma once
#include <memory>

namespace cortado::kokkos {

/// Kokkos itself, initialised with the first processor and finalised when the program ends, or with the last
/// processor if that lives longer. Kokkos cannot be initialised twice, so the first processor's thread count stays
/// an upper limit.
class Runtime {
 public:
  /// `threads` 0: what OMP_NUM_THREADS or the affinity mask says. CUDA: `device` becomes Kokkos' own.
  static std::shared_ptr<Runtime> get(int threads, int device);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Threads that OpenMP would use in the whole process if nobody asked for another number.
  static int default_threads();

 private:
  Runtime(int threads, int device);

  bool ours_ = false;
};

}  // namespace cortado::kokkos
