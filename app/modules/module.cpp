#include "app/modules/module.h"

#include <dlfcn.h>

#include <filesystem>

#include "core/base/error.h"
#include "programs/identity.h"

namespace cortado {
namespace {

std::string file_of(const std::string& name) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  return self.parent_path().parent_path() / "lib/cortado" / (name + ".so");
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
