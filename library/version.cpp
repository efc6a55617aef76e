#include "library/version.h"

namespace cortado {

const char* version() { return CORTADO_VERSION; }

}  // namespace cortado
