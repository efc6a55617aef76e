#include "parallel_io/sets/idx.h"

#include <zlib.h>

#include <filesystem>
#include <memory>

#include "core/base/error.h"
#include "core/tensor/blob.h"

namespace cortado {
namespace {

/// Reads plain and gzipped files alike: zlib tells them apart.
class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name), file_(gzopen(name.c_str(), "rb"), &gzclose) {
    if (!file_) throw FileError(name, "cannot be read", "expected an IDX file, gzipped or not");
  }
  void read(void* to, std::size_t bytes) {
    auto* at = static_cast<char*>(to);
    while (bytes > 0) {
      const auto part = static_cast<unsigned>(std::min<std::size_t>(bytes, 1U << 30));
      const int got = gzread(file_.get(), at, part);
      if (got <= 0) throw FileError(name_, "ends too early", "fetch the file again");
      at += got;
      bytes -= static_cast<std::size_t>(got);
    }
  }
  std::uint32_t big_endian() {
    std::uint8_t b[4];
    read(b, sizeof b);
    return (std::uint32_t{b[0]} << 24) | (std::uint32_t{b[1]} << 16) | (std::uint32_t{b[2]} << 8) | b[3];
  }
  /// As much as the file can hold: bytes that zlib packed become up to 1032 times as many.
  std::uintmax_t most_bytes() const {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(name_, error);
    if (error) throw FileError(name_, "has no size: " + error.message());
    return gzdirect(file_.get()) != 0 ? bytes : bytes * 1032;
  }

 private:
  std::string name_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

constexpr std::uint32_t magic_of_bytes = 0x08;
}  // namespace

IdxArray read_idx(const std::string& file) {
  Reader in(file);
  const std::uint32_t magic = in.big_endian(), dimensions = magic & 0xFF;
  if (magic >> 8 != magic_of_bytes || dimensions < 1 || dimensions > 4)
    throw FileError(file, "is not an IDX file of bytes (its magic number is " + std::to_string(magic) + ")");
  IdxArray array;
  for (std::uint32_t d = 0; d < dimensions; ++d) array.shape.push_back(in.big_endian());
  const auto count = counted(array.shape);
  if (!count || static_cast<std::uintmax_t>(*count) > in.most_bytes())
    throw FileError(file, "ends too early: it cannot hold the shape " + to_string(array.shape), "fetch the file again");
  array.values.resize(static_cast<std::size_t>(*count));
  in.read(array.values.data(), array.values.size());
  return array;
}

}  // namespace cortado
