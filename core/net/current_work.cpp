#include "core/net/current_work.h"

namespace cortado {
namespace {
thread_local CurrentWork here;
}

const CurrentWork& current_work() { return here; }

WorkScope::WorkScope(const CurrentWork& work) : before_(here) { here = work; }

WorkScope::~WorkScope() { here = before_; }

}  // namespace cortado
