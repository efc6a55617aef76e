#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "app/modules/modules.h"
#include "core/base/error.h"

namespace cortado {
namespace {

/// What a module adds by its one entry (cmake/programs.cmake). It stays loaded: its programs are code.
template <class Programs>
Programs load(const char* name, const char* target, const char* what) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe"),
                              file = self.parent_path().parent_path() / "lib/cortado" / (std::string(name) + ".so");
  void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr)
    throw ConfigError(file.string(), std::string("the programs of ") + what + " cannot be loaded: " + dlerror(),
                      std::string("build the target 'all' of this build folder, or '") + target + "' alone");
  using Entry = void (*)(Programs&);
  const auto entry = reinterpret_cast<Entry>(dlsym(module, "cortado_programs"));
  if (entry == nullptr) throw ConfigError(file.string(), std::string("is no module of ") + what, "build it anew");
  Programs programs;
  entry(programs);
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
