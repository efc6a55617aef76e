#include "app/doctor/file_facts.h"

#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iomanip>
#include <sstream>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/data/batch_source.h"

namespace cortado::doctor {
namespace {
namespace fs = std::filesystem;

constexpr std::pair<unsigned int, const char*> names[] = {
    {0xEF53, "ext4"},        {0x58465342, "xfs"},      {0x9123683E, "btrfs"},  {0x01021994, "tmpfs"},
    {0x794C7630, "overlay"}, {0x858458F6, "ramfs"},    {0x2FC12FC1, "zfs"},    {0xF2F52010, "f2fs"},
    {0x6969, "nfs"},         {0xFF534D42, "cifs"},     {0x0BD00BD0, "lustre"}, {0x47504653, "gpfs"},
    {0x19830326, "beegfs"},  {0x00C36400, "ceph"},     {0xAAD7AAEA, "panfs"},  {0x65735546, "fuse"},
    {0x20030528, "pvfs2"},   {0x73717368, "squashfs"}, {0x01021997, "9p"},     {0x6A656A63, "virtiofs"}};

/// The path, or the nearest folder above it that is there.
std::string nearest(const std::string& path) {
  std::error_code error;
  fs::path at = fs::absolute(path.empty() ? "." : path, error);
  while (!fs::exists(at, error) && at.has_parent_path() && at != at.parent_path()) at = at.parent_path();
  return at.string();
}

void ask_system(const std::string& path, StorageFacts& facts) {
  struct statfs system {};
  if (::statfs(path.c_str(), &system) != 0) return;
  facts.type = file_system_name(static_cast<unsigned int>(system.f_type));
  facts.free = static_cast<i64>(system.f_bavail) * static_cast<i64>(system.f_bsize);
}

/// Bytes of a file, or of the files that lie in a folder; -1 where there are too many to look at.
i64 count_bytes(const std::string& path) {
  constexpr int most = 4096;
  std::error_code error;
  if (fs::is_regular_file(path, error)) return static_cast<i64>(fs::file_size(path, error));
  i64 bytes = 0;
  int files = 0;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (++files > most) return -1;
    if (at->is_regular_file(error)) bytes += static_cast<i64>(at->file_size(error));
  }
  return error ? -1 : bytes;
}

std::uint32_t word_at(const std::string& bytes, std::size_t offset) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}
}  // namespace

std::string file_system_name(unsigned int number) {
  for (const auto& [known, name] : names)
    if (known == number) return name;
  std::ostringstream text;
  text << "file system 0x" << std::hex << number;
  return text.str();
}

void read_lustre_layout(const std::string& attribute, StorageFacts& facts) {
  // magic, pattern, an object's 16 bytes, bytes of a stripe, then the number of stripes in 16 bits
  constexpr std::size_t stripe_bytes = 24, stripes = 28, length = 32;
  constexpr std::uint32_t version1 = 0x0BD10BD0, version3 = 0x0BD30BD0;
  if (attribute.size() < length) return;
  const std::uint32_t magic = word_at(attribute, 0);
  if (magic != version1 && magic != version3) return;
  facts.stripe_bytes = word_at(attribute, stripe_bytes);
  facts.stripes = static_cast<int>(word_at(attribute, stripes) & 0xFFFF);
}

StorageFacts storage_of(const std::string& path) {
  StorageFacts facts;
  facts.path = path;
  std::error_code error;
  if (!fs::exists(path, error)) {
    facts.error = "is not there";
    return facts;
  }
  ask_system(path, facts);
  facts.bytes = count_bytes(path);
  std::string attribute(1024, '\0');
  const ssize_t length = ::getxattr(path.c_str(), "lustre.lov", attribute.data(), attribute.size());
  if (length > 0) read_lustre_layout(attribute.substr(0, static_cast<std::size_t>(length)), facts);
  return facts;
}

StorageFacts writable_folder(const std::string& folder) {
  StorageFacts facts;
  facts.path = folder;
  const std::string there = nearest(folder);
  ask_system(there, facts);
  std::error_code error;
  if (!fs::is_directory(there, error)) {
    facts.error = "cannot be made: " + there + " is no folder";
    return facts;
  }
  if (::access(there.c_str(), W_OK | X_OK) != 0) {
    facts.error = std::string("cannot be written: ") + std::strerror(errno);
    return facts;
  }
  try {
    unnamed_file(there);
  } catch (const Error& failed) { facts.error = failed.what(); }
  return facts;
}

std::vector<StorageFacts> files_of(const BatchRequest& request) {
  constexpr std::size_t most = 64;
  std::vector<StorageFacts> files;
  if (request.kind != BatchRequest::Kind::hdf5) return {storage_of(request.source)};
  try {
    if (first_bytes(request.source, 4) == "\x89HDF") return {storage_of(request.source)};
    FileStream list(request.source);
    for (std::string line; files.size() < most && std::getline(list, line);)
      if (!line.empty()) files.push_back(storage_of(exists(line) ? line : folder_of(request.source) + "/" + line));
  } catch (const Error&) { return {storage_of(request.source)}; }  // opening the set tells why
  return files;
}

}  // namespace cortado::doctor
