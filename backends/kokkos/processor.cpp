#include "backends/kokkos/processor.h"
