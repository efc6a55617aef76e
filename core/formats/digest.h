#pragma once
#include <cstddef>
#include <memory>
#include <string>

namespace cortado {

/// 128 bits of XXH3 over all bytes added. It tells contents apart, but does not resist attackers.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void add(const void* bytes, std::size_t count);
  /// Adds the length too, so that "a", "bc" differs from "ab", "c".
  void add(const std::string& text);
  /// 32 hexadecimal digits.
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cortado
