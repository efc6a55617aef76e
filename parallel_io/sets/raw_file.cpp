#include "parallel_io/sets/raw_file.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/error.h"

namespace cortado {
namespace {
constexpr i64 gap_worth_reading = 64 * 1024;  // costs less than another request
constexpr std::size_t most_pieces = 512;      // of one system call; IOV_MAX is 1024

/// One system call's reading: memory pieces that follow one another in the file.
struct Request {
  i64 offset = 0, end = 0;
  std::vector<iovec> pieces;

  bool takes(i64 next) const {
    return !pieces.empty() && pieces.size() + 2 <= most_pieces && next - end <= gap_worth_reading;
  }
  void add(i64 at, i64 bytes, void* to, std::vector<char>& unwanted) {
    if (pieces.empty()) offset = end = at;
    if (at > end) pieces.push_back({unwanted.data(), static_cast<std::size_t>(at - end)});
    const bool follows = !pieces.empty() && static_cast<char*>(pieces.back().iov_base) + pieces.back().iov_len == to;
    if (follows)
      pieces.back().iov_len += static_cast<std::size_t>(bytes);
    else
      pieces.push_back({to, static_cast<std::size_t>(bytes)});
    end = at + bytes;
  }
};

/// Leaves out the first `bytes` of the pieces.
void drop(std::vector<iovec>& pieces, std::size_t bytes) {
  std::size_t whole = 0;
  while (whole < pieces.size() && pieces[whole].iov_len <= bytes) bytes -= pieces[whole++].iov_len;
  pieces.erase(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(whole));
  if (pieces.empty()) return;
  pieces[0].iov_base = static_cast<char*>(pieces[0].iov_base) + bytes;
  pieces[0].iov_len -= bytes;
}

void run(const std::string& name, int descriptor, Request& request) {
  while (request.offset < request.end) {
    const ssize_t got =
        preadv(descriptor, request.pieces.data(), static_cast<int>(request.pieces.size()), request.offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw FileError(name, "cannot be read at byte " + std::to_string(request.offset) + ": " + std::strerror(errno));
    if (got == 0)
      throw FileError(name, "ends at byte " + std::to_string(request.offset) + " where " +
                                std::to_string(request.end - request.offset) + " more are due");
    request.offset += got;
    drop(request.pieces, static_cast<std::size_t>(got));
  }
  request.pieces.clear();
}

/// Scattered parts: the system may fetch them all at once while the first ones are copied.
void announce(int descriptor, const std::vector<RawFile::Part>& parts) {
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (parts[i].offset - (parts[i - 1].offset + parts[i - 1].bytes) > gap_worth_reading)
      posix_fadvise(descriptor, parts[i].offset, parts[i].bytes, POSIX_FADV_WILLNEED);
}

}  // namespace

RawFile::RawFile(const std::string& name, For use)
    : name_(name), descriptor_(use == For::reading ? open_regular(name) : open_own(name)) {}

RawFile RawFile::unnamed(const std::string& name) {
  const char* const folder = std::getenv("TMPDIR");
  try {
    const std::string place = folder != nullptr ? folder : "/tmp";
    return {name, unnamed_file(place), place};
  } catch (const FileError& error) {
    throw FileError(name, "needs a temporary file: " + std::string(error.what()), "set TMPDIR to a folder with space");
  }
}

RawFile RawFile::again(const Descriptor& descriptor) {
  Descriptor copy(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) throw_system_error(path_of(descriptor), "opened again");
  return {path_of(descriptor), std::move(copy)};
}

i64 RawFile::bytes() const { return bytes_of(descriptor_, name_); }

void RawFile::read(const std::vector<Part>& parts) const {
  thread_local std::vector<char> unwanted(static_cast<std::size_t>(gap_worth_reading));
  announce(descriptor_.get(), parts);
  Request request;
  for (const Part& part : parts) {
    if (part.bytes == 0) continue;
    if (!request.takes(part.offset)) run(name_, descriptor_.get(), request);
    request.add(part.offset, part.bytes, part.to, unwanted);
  }
  run(name_, descriptor_.get(), request);
}

void RawFile::write(i64 offset, i64 bytes, const void* from) const {
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t put = pwrite(descriptor_.get(), at, static_cast<std::size_t>(std::min(bytes, i64{1} << 30)), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_to_write(" at byte " + std::to_string(offset));
    at += put;
    offset += put;
    bytes -= put;
  }
}

void RawFile::sync() const {
  if (fdatasync(descriptor_.get()) != 0) fail_to_write("");
}

/// Throws the error of errno.
void RawFile::fail_to_write(const std::string& where) const {
  const std::string reason = where + ": " + std::strerror(errno);
  const std::string advice = errno == EFBIG ? "a limit ends files there, see ulimit -f" : "check the space left";
  if (folder_.empty()) throw FileError(name_, "cannot be written" + reason, advice);
  throw FileError("a temporary file in " + folder_, "cannot be written" + reason + "; it is for reading " + name_,
                  advice + ", or set TMPDIR to a folder with space");
}

}  // namespace cortado
