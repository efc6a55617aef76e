#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "app/modules/modules.h"
#include "core/base/error.h"
#include "programs/identity.h"

namespace cortado {
namespace {

/// A function that a module exports (cmake/programs.cmake).
template <class Function>
Function* entry(void* module, const char* name, const std::string& file, const char* what) {
  const auto found = reinterpret_cast<Function*>(dlsym(module, name));
  if (found == nullptr) throw ConfigError(file, std::string("is no module of ") + what, "build it anew");
  return found;
}

/// The programs of a module. It stays loaded: its programs are code.
template <class Programs>
Programs load(const char* name, const char* target, const char* what) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe"),
                              file = self.parent_path().parent_path() / "lib/cortado" / (std::string(name) + ".so");
  void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr)
    throw ConfigError(file.string(), std::string("the programs of ") + what + " cannot be loaded: " + dlerror(),
                      std::string("build the target 'all' of this build folder, or '") + target + "' alone");
  const std::string identity = entry<const char*()>(module, "cortado_identity", file, what)();
  if (identity != CORTADO_PROGRAMS_IDENTITY)
    throw ConfigError(file.string(),
                      std::string("the programs of ") + what + " come from another build than this program",
                      std::string("build the target 'all' of this build folder, or '") + target + "' alone");
  Programs programs;
  entry<void(Programs&)>(module, "cortado_programs", file, what)(programs);
  return programs;
}

}  // namespace

reference::Programs reference_programs() {
  return load<reference::Programs>("reference", "cortado_reference_programs_module", "the reference backend");
}

#ifdef CORTADO_WITH_KOKKOS
kokkos::Programs kokkos_bf16_programs() {
#ifdef CORTADO_WITH_CUDA
  return {};
#else
  return load<kokkos::Programs>("bf16", "cortado_bf16_programs_module", "mixed precision");
#endif
}
#endif

}  // namespace cortado
