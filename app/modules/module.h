#pragma once
#include <string>

namespace cortado {

/// A module, cortado/NAME.so beside libcortado.so or in the folder lib beside the executable's: code that few runs or
/// processors need. It stays loaded.
class Module {
 public:
  /// `what` it holds is what errors name. Throws ConfigError if the module is not there, is none, or was made of other
  /// sources or by other flags than this program.
  Module(const std::string& name, const std::string& what);

  /// A function that it exports by a C name. Throws ConfigError where there is none.
  template <class Function>
  Function* entry(const char* name) const {
    return reinterpret_cast<Function*>(address_of(name));
  }

 private:
  void* address_of(const char* name) const;

  const std::string file_, what_;
  void* const handle_;
};

}  // namespace cortado
