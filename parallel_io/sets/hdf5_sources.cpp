#include "parallel_io/sets/hdf5_sources.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "parallel_io/sets/hdf5.h"

namespace cortado::hdf5 {
namespace {
constexpr int most_depth = 16;  // of virtual arrays over virtual arrays

/// Where HDF5 finds a file that another one names: below its prefix, beside that one, or by the name itself.
std::string found(const std::string& name, const std::string& of, const char* prefix, const std::string& where) {
  std::vector<std::string> places;
  if (name.empty() || name[0] != '/') {
    if (const char* const folder = std::getenv(prefix); folder != nullptr)
      places.push_back(std::string(folder) + "/" + name);
    places.push_back(folder_of(of) + "/" + name);
  }
  places.push_back(name);
  for (const auto& place : places) {
    if (!exists(place)) continue;
    expect_readable(place);
    return place;
  }
  throw FileError(where, "takes values from '" + name + "', which is not there",
                  "it lies beside " + of + ", or nowhere");
}

/// The first of the files that a pattern of HDF5 stands for: %b is a number, %% a per cent sign.
std::string first_of(const std::string& pattern) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i)
    if (pattern[i] == '%' && i + 1 < pattern.size() && (pattern[i + 1] == 'b' || pattern[i + 1] == '%'))
      name += pattern[++i] == 'b' ? '0' : '%';
    else
      name += pattern[i];
  return name;
}

std::string text_of(ssize_t (*get)(hid_t, std::size_t, char*, std::size_t), hid_t list, std::size_t index) {
  const ssize_t size = get(list, index, nullptr, 0);
  std::string text(static_cast<std::size_t>(std::max<ssize_t>(size, 0)) + 1, '\0');
  get(list, index, text.data(), text.size());
  text.resize(text.size() - 1);
  return text;
}

void expect_filters(hid_t list, const std::string& where) {
  for (int i = 0; i < H5Pget_nfilters(list); ++i) {
    unsigned flags = 0, config = 0;
    std::size_t values = 0;
    char name[64] = {};
    const H5Z_filter_t id =
        H5Pget_filter2(list, static_cast<unsigned>(i), &flags, &values, nullptr, sizeof name, name, &config);
    if (id >= 0 && H5Zfilter_avail(id) <= 0)
      throw FileError(where,
                      std::string("is packed by the filter '") + name + "' (" + std::to_string(id) +
                          "), which the HDF5 library here lacks",
                      "write it with gzip, or without a filter");
  }
}

void expect(hid_t array, const std::string& file, const std::string& where, int depth);

void expect_virtual(hid_t list, const std::string& file, const std::string& where, int depth) {
  std::size_t count = 0;
  H5Pget_virtual_count(list, &count);
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = first_of(text_of(&H5Pget_virtual_filename, list, i)),
                      array = first_of(text_of(&H5Pget_virtual_dsetname, list, i));
    if (!seen.emplace(name, array).second) continue;
    const std::string place = name == "." ? file : found(name, file, "HDF5_VDS_PREFIX", where);
    const Handle source(H5Fopen(place.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (source.get() < 0) throw FileError(where, "takes values from " + place + ", which is no whole HDF5 file");
    const Handle set(H5Dopen2(source.get(), array.c_str(), H5P_DEFAULT), H5Dclose);
    if (set.get() < 0) throw FileError(where, "takes values from " + place + ", which has no data set '" + array + "'");
    expect(set.get(), place, where, depth + 1);
  }
}

void expect(hid_t array, const std::string& file, const std::string& where, int depth) {
  if (depth > most_depth) throw FileError(where, "takes its values from itself, or from too many files in a row");
  const Handle list(H5Dget_create_plist(array), H5Pclose);
  expect_filters(list.get(), where);
  for (int i = 0; i < H5Pget_external_count(list.get()); ++i) {
    char name[4096] = {};
    off_t offset = 0;
    hsize_t size = 0;
    H5Pget_external(list.get(), static_cast<unsigned>(i), sizeof name - 1, name, &offset, &size);
    found(name, file, "HDF5_EXTFILE_PREFIX", where);
  }
  if (H5Pget_layout(list.get()) == H5D_VIRTUAL) expect_virtual(list.get(), file, where, depth);
}
}  // namespace

void expect_sources(hid_t array, const std::string& file, const std::string& where) {
  const Quiet quiet;
  expect(array, file, where, 0);
}

void expect_link(hid_t group, const std::string& name, const std::string& file, const std::string& where) {
  const Quiet quiet;
  H5L_info_t info{};
  if (H5Lget_info(group, name.c_str(), &info, H5P_DEFAULT) < 0 || info.type != H5L_TYPE_EXTERNAL) return;
  std::vector<char> value(info.u.val_size + 1);
  const char *to = nullptr, *path = nullptr;
  unsigned flags = 0;
  if (H5Lget_val(group, name.c_str(), value.data(), value.size(), H5P_DEFAULT) < 0 ||
      H5Lunpack_elink_val(value.data(), info.u.val_size, &flags, &to, &path) < 0)
    throw FileError(where, "is a damaged link");
  found(to, file, "HDF5_EXT_PREFIX", where);
}

}  // namespace cortado::hdf5
