#include "parallel_io/sets/idx.h"

#include <zlib.h>

#include "tests/fuzz/target.h"

namespace cortado::fuzz {
namespace {
void read(const std::string& file) { const IdxFile idx(file); }

std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::vector<std::string> seeds() {
  using namespace std::string_literals;
  const std::string labels = "\0\0\x08\x01\0\0\0\x05"s + "\x01\x02\x03\x04\x05",
                    images = "\0\0\x08\x03\0\0\0\x02\0\0\0\x03\0\0\0\x04"s + std::string(24, 'x');
  return {labels, images, gzipped(labels), gzipped(images)};
}
}  // namespace

Target idx() { return {"idx", of_file(read), seeds}; }

}  // namespace cortado::fuzz
