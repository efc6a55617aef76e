#pragma once
// What elements are inside programs: plain numbers, or on the simulator numbers that count what is done with them.
#ifdef CORTADO_SUNWAY_SIM
#include "backends/sunway/sim/counted.h"
#else
namespace cortado::sunway {
template <class T>
using Value = T;
template <class T>
T load(const T* p) {
  return *p;
}
template <class T>
void store(T* p, T value) {
  *p = value;
}
}  // namespace cortado::sunway
#endif
