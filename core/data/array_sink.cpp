#include "core/data/array_sink.h"

#include <filesystem>
#include <map>
#include <mutex>

#include "core/base/error.h"

namespace cortado {
namespace {
std::mutex mutex;

/// Owners by file.
std::map<std::string, std::string>& held() {
  static std::map<std::string, std::string> all;
  return all;
}
}  // namespace

std::shared_ptr<const void> hold_file(const std::string& file, const std::string& owner) {
  std::error_code failed;
  const auto place = std::filesystem::weakly_canonical(file, failed);
  const std::string name = failed ? file : place.string();
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [at, is_new] = held().emplace(name, owner);
  if (!is_new)
    throw FileError(file, "is written by " + at->second + " and by " + owner,
                    "give each a file of its own, or say include { phase: TEST } in a layer that only test nets need");
  return {&held(), [name](const void*) {
            const std::lock_guard<std::mutex> releasing(mutex);
            held().erase(name);
          }};
}

}  // namespace cortado
