#include "app/session/reference.h"

#include "backends/reference/processor.h"
#ifdef CORTADO_WITH_REFERENCE
#include "programs/reference_all_programs.h"
#else
#include <dlfcn.h>

#include <filesystem>

#include "core/base/error.h"
#endif

namespace cortado {
#ifndef CORTADO_WITH_REFERENCE
namespace reference {
namespace {

/// lib/cortado/reference.so beside the folder of the executable, in builds, installations and bundles alike. It stays
/// loaded: its programs are code.
Programs all_programs() {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe"),
                              file = self.parent_path().parent_path() / "lib/cortado/reference.so";
  void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr)
    throw ConfigError(file.string(),
                      std::string("the programs of the reference backend cannot be loaded: ") + dlerror(),
                      "build the target 'all' of this build folder, or 'cortado_reference_module' alone");
  using Entry = void (*)(Programs&);
  const auto entry = reinterpret_cast<Entry>(dlsym(module, "cortado_reference_programs"));
  if (entry == nullptr) throw ConfigError(file.string(), "is no module of the reference backend", "build it anew");
  Programs programs;
  entry(programs);
  return programs;
}

}  // namespace
}  // namespace reference
#endif

std::unique_ptr<Processor> make_reference_processor() {
  return reference::make_processor({}, reference::all_programs());
}

}  // namespace cortado
