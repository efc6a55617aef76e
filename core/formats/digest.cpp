#include "core/formats/digest.h"

#include <xxhash.h>

#include <cstdint>
#include <cstdio>

namespace cortado {

struct Digest::State {
  XXH3_state_t* value = XXH3_createState();
  State() { XXH3_128bits_reset(value); }
  ~State() { XXH3_freeState(value); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Digest::Digest() : state_(std::make_unique<State>()) {}
Digest::~Digest() = default;

void Digest::add(const void* bytes, std::size_t count) { XXH3_128bits_update(state_->value, bytes, count); }

void Digest::add(const std::string& text) {
  const std::uint64_t length = text.size();
  add(&length, sizeof length);
  add(text.data(), text.size());
}

std::string Digest::text() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->value);
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

}  // namespace cortado
