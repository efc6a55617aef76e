#include "backends/kokkos/runtime.h"

#include <omp.h>

#include <Kokkos_Core.hpp>
#include <cstdio>
#include <cstdlib>

#if defined(CORTADO_KOKKOS_CUDA)
#include "backends/kokkos/cuda_check.h"
#endif

namespace cortado::kokkos {

int Runtime::default_threads() {
  static const int threads = omp_get_max_threads();
  return threads;
}

std::shared_ptr<Runtime> Runtime::get(int threads, int device) {
  // Its end is registered once it is made, after the driver's, which CUDA registers when Kokkos starts it: Kokkos must
  // be finalised while the driver is still up.
  static const std::shared_ptr<Runtime> runtime(new Runtime(threads, device));
  return runtime;
}

Runtime::Runtime(int threads, int device) {
  omp_set_max_active_levels(2);  // core groups, and the threads of each
  if (Kokkos::is_initialized()) return;
    // Kokkos warns when OpenMP's binding variables are unset; Cortado reports each rank's binding itself.
#if KOKKOS_VERSION >= 30700
  Kokkos::InitializationSettings settings;
  settings.set_num_threads(threads).set_disable_warnings(true);
#if defined(CORTADO_KOKKOS_CUDA)
  settings.set_device_id(device);
#else
  static_cast<void>(device);
#endif
  Kokkos::initialize(settings);
#else
  static_cast<void>(device);
  Kokkos::InitArguments arguments;
  arguments.num_threads = threads;
  arguments.disable_warnings = true;
  Kokkos::initialize(arguments);
#endif
  ours_ = true;
}

Runtime::~Runtime() {
#if defined(CORTADO_KOKKOS_CUDA)
  if (device_is_lost()) {  // Kokkos' own destructors, which come later, would abort or complain
    std::fflush(nullptr);
    std::_Exit(EXIT_FAILURE);
  }
#endif
  if (ours_) Kokkos::finalize();
}

}  // namespace cortado::kokkos
