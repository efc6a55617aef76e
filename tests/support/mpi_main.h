#pragma once
#include "comm/job.h"

namespace cortado::test {

/// The MPI job of a test program that is run under mpirun (tests/support/mpi_main.cpp, which has its main).
const MpiJob& job();

}  // namespace cortado::test
