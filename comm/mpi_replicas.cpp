#include "comm/mpi_replicas.h"
