#include "programs/reference_all_programs.h"

/// The module's one entry, which app/session/reference.cpp looks up.
extern "C" void cortado_reference_programs(cortado::reference::Programs& programs) {
  programs = cortado::reference::all_programs();
}
