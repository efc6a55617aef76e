#include "backends/reference/processor.h"
