#include "parallel_io/sets/idx.h"

#include <zlib.h>

#include <memory>
#include <vector>

#include "core/base/error.h"

namespace cortado {
namespace {
constexpr std::uint32_t magic_of_bytes = 0x08;

bool is_gzipped(const RawFile& file) {
  unsigned char begin[2] = {};
  if (file.bytes() >= 2) file.read(0, 2, begin);
  return begin[0] == 0x1F && begin[1] == 0x8B;
}

RawFile unpacked(const std::string& name) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> packed(gzopen(name.c_str(), "rb"), &gzclose);
  if (!packed) throw FileError(name, "cannot be read", "expected an IDX file, gzipped or not");
  RawFile file = RawFile::unnamed(name);
  std::vector<char> piece(1 << 20);
  i64 written = 0;
  for (int got = 0; (got = gzread(packed.get(), piece.data(), static_cast<unsigned>(piece.size()))) != 0;
       written += got) {
    if (got < 0) throw FileError(name, "cannot be unpacked", "fetch the file again");
    file.write(written, got, piece.data());
  }
  return file;
}

RawFile opened(const std::string& name) {
  RawFile file(name);
  return is_gzipped(file) ? unpacked(name) : std::move(file);
}
}  // namespace

IdxFile::IdxFile(const std::string& name) : file_(opened(name)) {
  const std::uint32_t magic = big_endian(0), dimensions = magic & 0xFF;
  if (magic >> 8 != magic_of_bytes || dimensions < 1 || dimensions > 4)
    throw FileError(name, "is not an IDX file of bytes (its magic number is " + std::to_string(magic) + ")");
  for (std::uint32_t d = 1; d <= dimensions; ++d) shape_.push_back(big_endian(4 * i64{d}));
  begin_ = 4 * (1 + i64{dimensions});
  const auto count = counted(shape_);
  if (!count || *count > file_.bytes() - begin_)
    throw FileError(name, "ends too early: it cannot hold the shape " + to_string(shape_), "fetch the file again");
}

std::uint32_t IdxFile::big_endian(i64 offset) const {
  if (file_.bytes() < offset + 4) throw FileError(file_.name(), "ends too early", "fetch the file again");
  std::uint8_t b[4];
  file_.read(offset, 4, b);
  return (std::uint32_t{b[0]} << 24) | (std::uint32_t{b[1]} << 16) | (std::uint32_t{b[2]} << 8) | b[3];
}

}  // namespace cortado
