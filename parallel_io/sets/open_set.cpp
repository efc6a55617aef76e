#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "parallel_io/sets/byte_sets.h"
#include "parallel_io/sets/hdf5_set.h"
#include "parallel_io/sets/image.h"
#include "parallel_io/sets/image_set.h"
#include "parallel_io/sets/lmdb_set.h"

namespace cortado {
namespace {
namespace fs = std::filesystem;

std::unique_ptr<DataSet> open_folder(const fs::path& folder, const OpenOptions& options) {
  if (fs::exists(folder / "data.mdb")) return std::make_unique<LmdbSet>(folder.string(), options);
  if (fs::exists(folder / "CURRENT"))
    throw FileError(folder.string(), "is a LevelDB, which is not read here", "convert it to LMDB with Caffe's tools");
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().rfind("data_batch_", 0) == 0)
      return std::make_unique<CifarSet>(folder.string());
  return std::make_unique<ImageSet>(folder.string(), options);
}

std::unique_ptr<DataSet> open_list(const std::string& path, const OpenOptions& options) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  const std::string first = line.substr(0, line.find_first_of(" \t\r"));
  if (is_image_name(first)) return std::make_unique<ImageSet>(path, options);
  return std::make_unique<Hdf5Set>(path, options);
}

}  // namespace

std::unique_ptr<DataSet> open_set(const std::string& path, const OpenOptions& options) {
  if (!fs::exists(path)) {
    if (fs::exists(path + ".part") || fs::exists(path + ".stripes"))
      throw FileError(path, "is unfinished", "run the same cortado convert again to finish it");
    throw FileError(path, "is not there", "check the path and that it exists on every node");
  }
  if (fs::is_directory(path)) return open_folder(path, options);
  std::ifstream in(path, std::ios::binary);
  unsigned char begin[4] = {};
  in.read(reinterpret_cast<char*>(begin), sizeof begin);
  const std::string name = fs::path(path).filename().string();
  if (std::memcmp(begin, "\x89HDF", 4) == 0) return std::make_unique<Hdf5Set>(path, options);
  const bool idx = begin[0] == 0 && begin[1] == 0 && begin[2] == 8, gzipped = begin[0] == 0x1F && begin[1] == 0x8B;
  if (idx || (gzipped && name.find("idx") != std::string::npos)) return std::make_unique<IdxSet>(path);
  if (fs::path(path).extension() == ".bin") return std::make_unique<CifarSet>(path);
  if (in.gcount() > 0) return open_list(path, options);
  throw FileError(path, "is empty");
}

}  // namespace cortado
