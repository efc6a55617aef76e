#include "app/modules/module.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

#include "core/base/error.h"
#include "programs/identity.h"

namespace cortado {
namespace {

/// The folder of modules, beside what holds this code: the executable, or libcortado.so. A program may have loaded the
/// latter for itself alone, so it is opened to modules here.
std::filesystem::path find_modules() {
  Dl_info info{};
  link_map* holder = nullptr;
  const auto here = reinterpret_cast<const void*>(&find_modules);
  if (dladdr1(here, &info, reinterpret_cast<void**>(&holder), RTLD_DL_LINKMAP) == 0 || holder->l_name[0] == '\0')
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() / CORTADO_MODULES_FROM_BIN;
  dlopen(holder->l_name, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  return std::filesystem::canonical(holder->l_name).parent_path() / "cortado";
}

std::string file_of(const std::string& name) {
  static const std::filesystem::path folder = find_modules().lexically_normal();
  return folder / (name + ".so");
}

constexpr const char* advice = "build the target 'all' of this build folder, or 'cortado_modules' alone";
}  // namespace

Module::Module(const std::string& name, const std::string& what)
    : file_(file_of(name)), what_(what), handle_(dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr)
    throw ConfigError(file_, "the programs of " + what_ + " cannot be loaded: " + dlerror(), advice);
  const std::string identity = entry<const char*()>("cortado_identity")();
  if (identity != CORTADO_PROGRAMS_IDENTITY)
    throw ConfigError(file_, "the programs of " + what_ + " come from another build than this program", advice);
}

void* Module::address_of(const char* name) const {
  void* const found = dlsym(handle_, name);
  if (found == nullptr) throw ConfigError(file_, "is no module of " + what_, "build it anew");
  return found;
}

}  // namespace cortado
