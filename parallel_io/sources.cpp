#include "parallel_io/sources.h"
