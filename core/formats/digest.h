#pragma once
#include <cstddef>
#include <memory>
#include <string>

namespace cortado {

/// Tells contents apart, not attackers: 128 bits of XXH3 over all that was added.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void add(const void* bytes, std::size_t count);
  /// With its length: "a", "bc" is not "ab", "c".
  void add(const std::string& text);
  /// 32 hexadecimal digits.
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cortado
