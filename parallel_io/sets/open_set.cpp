#include <cstring>
#include <filesystem>

#include "core/base/error.h"
#include "core/formats/files.h"
#include "parallel_io/sets/byte_sets.h"
#include "parallel_io/sets/hdf5_set.h"
#include "parallel_io/sets/image.h"
#include "parallel_io/sets/image_set.h"
#include "parallel_io/sets/lmdb_set.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;

std::unique_ptr<DataSet> open_folder(const fs::path& folder, const OpenOptions& options) {
  if (exists((folder / "data.mdb").string())) return std::make_unique<LmdbSet>(folder.string(), options);
  if (exists((folder / "CURRENT").string()))
    throw FileError(folder.string(), "is a LevelDB, which is not read here", "convert it to LMDB with Caffe's tools");
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error) throw FileError(folder.string(), "cannot be read: " + error.message());
  for (const auto& entry : entries)
    if (entry.path().filename().string().rfind("data_batch_", 0) == 0)
      return std::make_unique<CifarSet>(folder.string());
  return std::make_unique<ImageSet>(folder.string(), options);
}

std::unique_ptr<DataSet> open_list(const std::string& path, const OpenOptions& options) {
  if (!looks_like_text(path))
    throw FileError(path, "is none of the files that are read as data",
                    "HDF5, LMDB, IDX, CIFAR-10's .bin, or a text that lists HDF5 files or images");
  FileStream in(path);
  constexpr const char* blanks = " \t\r";
  std::string line;
  while (std::getline(in, line) && line.find_first_not_of(blanks) == std::string::npos) {}
  // An image's name may have blanks in it, and has labels behind it.
  for (std::size_t end = 0; end != std::string::npos;) {
    end = line.find_first_of(blanks, end + 1);
    if (is_image_name(line.substr(0, end))) return std::make_unique<ImageSet>(path, options);
  }
  return std::make_unique<Hdf5Set>(path, options);
}

}  // namespace

float exact_label(i64 label, const std::function<std::string()>& where) {
  constexpr i64 largest = i64{1} << 24;
  if (label >= -largest && label <= largest) return static_cast<float>(label);
  throw FileError(where(), "has a label beyond " + std::to_string(largest), "labels are floats, which would round it");
}

std::unique_ptr<DataSet> open_set(const std::string& path, const OpenOptions& options) {
  const FileKind kind = kind_of(path);
  if (kind == FileKind::absent) {
    if (exists(path + ".part") || exists(path + ".stripes"))
      throw FileError(path, "is unfinished", "run the same cortado convert again to finish it");
    throw FileError(path, "is not there", "check the path and that it exists on every node");
  }
  if (kind == FileKind::folder) return open_folder(path, options);
  const std::string start = first_bytes(path, 4);
  if (start.empty()) throw FileError(path, "is empty");
  unsigned char begin[4] = {};
  std::memcpy(begin, start.data(), start.size());
  const std::string name = fs::path(path).filename().string();
  if (std::memcmp(begin, "\x89HDF", 4) == 0) return std::make_unique<Hdf5Set>(path, options);
  const bool idx = begin[0] == 0 && begin[1] == 0 && begin[2] == 8, gzipped = begin[0] == 0x1F && begin[1] == 0x8B;
  if (idx || (gzipped && name.find("idx") != std::string::npos)) return std::make_unique<IdxSet>(path);
  if (fs::path(path).extension() == ".bin") return std::make_unique<CifarSet>(path);
  if (LmdbFile::begins(path)) return std::make_unique<LmdbSet>(path, options);
  return open_list(path, options);
}

}  // namespace cortado
