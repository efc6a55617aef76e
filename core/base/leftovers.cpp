#include "core/base/leftovers.h"

#include <unistd.h>

#include <array>
#include <atomic>

#include "core/base/error.h"

namespace cortado {
namespace {
// A signal handler reads it: no container, no lock.
std::array<std::atomic<const Leftovers*>, 16> all{};

bool exchange(const Leftovers* from, const Leftovers* to) {
  for (auto& place : all)
    if (const Leftovers* expected = from; place.compare_exchange_strong(expected, to)) return true;
  return false;
}
}  // namespace

Leftovers::Leftovers(std::vector<std::string> paths) : paths_(std::move(paths)) {
  require(exchange(nullptr, this), "few conversions are under way at once");
}

Leftovers::~Leftovers() {
  exchange(this, nullptr);
  remove();
}

void Leftovers::remove() const noexcept {
  for (const std::string& path : paths_)
    if (::unlink(path.c_str()) != 0) ::rmdir(path.c_str());
}

void Leftovers::remove_all() noexcept {
  for (const auto& place : all)
    if (const Leftovers* const one = place) one->remove();
}

}  // namespace cortado
