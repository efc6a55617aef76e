#include "backends/kokkos/runtime.h"

#include <omp.h>

#include <Kokkos_Core.hpp>

namespace cortado::kokkos {

int Runtime::default_threads() {
  static const int threads = omp_get_max_threads();
  return threads;
}

std::shared_ptr<Runtime> Runtime::get(int threads) {
  static std::shared_ptr<Runtime> runtime;
  if (!runtime) runtime.reset(new Runtime(threads));
  return runtime;
}

Runtime::Runtime(int threads) {
  omp_set_max_active_levels(2);  // core groups, and the threads of each
  if (Kokkos::is_initialized()) return;
    // Kokkos warns when OpenMP's binding variables are unset; Cortado reports each rank's binding itself.
#if KOKKOS_VERSION >= 30700
  Kokkos::initialize(Kokkos::InitializationSettings().set_num_threads(threads).set_disable_warnings(true));
#else
  Kokkos::InitArguments arguments;
  arguments.num_threads = threads;
  arguments.disable_warnings = true;
  Kokkos::initialize(arguments);
#endif
  ours_ = true;
}

Runtime::~Runtime() {
  if (ours_) Kokkos::finalize();
}

}  // namespace cortado::kokkos
