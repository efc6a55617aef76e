#include "parallel_io/sets/hdf5_sources.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/tensor/blob.h"
#include "parallel_io/sets/hdf5.h"

namespace cortado::hdf5 {
namespace {
constexpr int most_depth = 16;  // of virtual arrays over virtual arrays

using Dims = std::vector<hsize_t>;

std::string below(const char* prefix, const std::string& name, const std::string& of) {
  const std::string folder = prefix, origin = "${ORIGIN}";
  if (folder.compare(0, origin.size(), origin) != 0) return folder + "/" + name;
  return folder_of(of) + folder.substr(origin.size()) + "/" + name;
}

/// The first of the places that is there.
std::string first_there(const std::vector<std::string>& places, const std::string& name, const std::string& where,
                        const std::string& advice) {
  for (const auto& place : places) {
    if (!exists(place)) continue;
    expect_readable(place);
    return place;
  }
  throw FileError(where, "takes values from '" + name + "', which is not there", advice);
}

/// The path at which HDF5 finds an HDF5 file that another one names: below its prefix, beside that one, or by the name
/// itself.
std::string found(const std::string& name, const std::string& of, const char* prefix, const std::string& where) {
  std::vector<std::string> places;
  if (name.empty() || name[0] != '/') {
    if (const char* const folder = std::getenv(prefix); folder != nullptr) places.push_back(below(folder, name, of));
    places.push_back(folder_of(of) + "/" + name);
  }
  places.push_back(name);
  return first_there(places, name, where, "it lies beside " + of + ", or nowhere");
}

/// The path at which HDF5 finds a raw file: below its prefix, or else from the working directory.
std::string found_raw(const std::string& name, const std::string& of, const std::string& where) {
  const char* const folder = std::getenv("HDF5_EXTFILE_PREFIX");
  const bool is_below = folder != nullptr && *folder != '\0' && !name.empty() && name[0] != '/';
  return first_there({is_below ? below(folder, name, of) : name}, name, where,
                     "HDF5 looks from the working directory, or below HDF5_EXTFILE_PREFIX where that is set");
}

Dims dims_of_space(hid_t space) {
  Dims dims(static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space))));
  H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  return dims;
}

Dims dims_of_array(hid_t array) {
  const Handle space(H5Dget_space(array), H5Sclose);
  return dims_of_space(space.get());
}

std::string text_of(const Dims& dims) { return to_string(Shape(dims.begin(), dims.end())); }

hsize_t values_in(const Dims& dims) {
  hsize_t values = 1;
  for (const hsize_t d : dims) values *= d;
  return values;
}

/// Things of an array that are legal and seldom meant; once an array, however often it is opened.
void warn_once(const std::string& where, const std::string& what) {
  static std::set<std::string> told;  // the library's lock is held
  if (told.insert(where + what).second) CORTADO_LOG(warning) << where << ": " << what;
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

/// One array that a virtual one takes values from, as it is.
struct Source {
  std::string text;
  Dims dims;
};

Source expect_source(const std::string& name, const std::string& array, const std::string& file,
                     const std::string& where, int depth) {
  const std::string place = name == "." ? file : found(name, file, "HDF5_VDS_PREFIX", where);
  const Handle source(H5Fopen(place.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (source.get() < 0) throw FileError(where, "takes values from " + place + ", which is no whole HDF5 file");
  const Handle set(H5Dopen2(source.get(), array.c_str(), H5P_DEFAULT), H5Dclose);
  const std::string text = place + ", data set '" + array + "'";
  if (set.get() < 0)
    throw FileError(where, "takes values from " + place + ", " +
                               (H5Lexists(source.get(), array.c_str(), H5P_DEFAULT) > 0
                                    ? "where '" + array + "' " + what_instead(source.get(), array, H5I_DATASET)
                                    : "which has no data set '" + array + "'"));
  expect(set.get(), place, depth == 0 ? where + ", from " + text : where, depth + 1);
  return {text, dims_of_array(set.get())};
}

/// Checks that a mapping of so many values lies within its source. A mapping without an end grows with the source. A
/// file keeps the shape of a source only where a part of it is taken.
void expect_inside(hid_t list, std::size_t mapping, hssize_t values, const Source& source, const std::string& where) {
  const Handle space(H5Pget_virtual_srcspace(list, mapping), H5Sclose);
  std::string due;
  if (H5Sget_select_type(space.get()) == H5S_SEL_ALL) {
    if (values >= 0 && static_cast<hsize_t>(values) != H5S_UNLIMITED &&
        static_cast<hsize_t>(values) != values_in(source.dims))
      due = std::to_string(values) + " values are";
  } else {
    Dims first(dims_of_space(space.get()).size()), last(first.size());
    if (first.empty() || H5Sget_select_bounds(space.get(), first.data(), last.data()) < 0) return;
    bool fits = last.size() == source.dims.size();
    for (std::size_t d = 0; fits && d < last.size(); ++d) fits = last[d] < source.dims[d];
    for (hsize_t& d : last) ++d;
    if (!fits) due = "at least " + text_of(last) + " is";
  }
  if (!due.empty())
    throw FileError(
        where,
        "takes values from " + source.text + ", which has shape " + text_of(source.dims) + " where " + due + " due",
        "the source was made anew or cut: make it again, or the virtual data set");
}

void expect_virtual(hid_t array, hid_t list, const std::string& file, const std::string& where, int depth) {
  std::size_t count = 0;
  H5Pget_virtual_count(list, &count);
  std::map<std::pair<std::string, std::string>, Source> seen;
  hsize_t mapped = 0;
  bool is_fixed = true;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string pattern = text_of(&H5Pget_virtual_filename, list, i),
                      inside = text_of(&H5Pget_virtual_dsetname, list, i);
    const std::pair<std::string, std::string> key = {first_of(pattern), first_of(inside)};
    auto source = seen.find(key);
    if (source == seen.end())
      source = seen.emplace(key, expect_source(key.first, key.second, file, where, depth)).first;
    const Handle space(H5Pget_virtual_vspace(list, i), H5Sclose);
    const hssize_t values = H5Sget_select_npoints(space.get());
    is_fixed = is_fixed && values >= 0 && static_cast<hsize_t>(values) != H5S_UNLIMITED && key.first == pattern &&
               key.second == inside;
    if (is_fixed) mapped += static_cast<hsize_t>(values);
    expect_inside(list, i, values, source->second, where);
  }
  const hsize_t all = values_in(dims_of_array(array));
  if (is_fixed && mapped < all)
    warn_once(where, std::to_string(all - mapped) + " of " + std::to_string(all) +
                         " values come from no source: they read as the fill value");
}

/// Raw files are as long as the array says: HDF5 reads zeros behind their ends.
void expect_raw_files(hid_t array, hid_t list, const std::string& file, const std::string& where) {
  const Handle type(H5Dget_type(array), H5Tclose);
  hsize_t left = values_in(dims_of_array(array)) * H5Tget_size(type.get());
  for (int i = 0; i < H5Pget_external_count(list) && left > 0; ++i) {
    char name[4096] = {};
    off_t offset = 0;
    hsize_t size = 0;
    H5Pget_external(list, static_cast<unsigned>(i), sizeof name - 1, name, &offset, &size);
    const std::string place = found_raw(name, file, where);
    const hsize_t part = size == H5F_UNLIMITED ? left : std::min(size, left), due = static_cast<hsize_t>(offset) + part,
                  bytes = static_cast<hsize_t>(bytes_of(open_regular(place), place));
    if (bytes < due)
      throw FileError(where,
                      "takes values from " + place + ", which has " + std::to_string(bytes) + " bytes where " +
                          std::to_string(due) + " are due",
                      "the raw file is truncated: fetch or make it again");
    left -= part;
  }
}

hsize_t chunks_due(hid_t list, const Dims& dims) {
  Dims chunk(dims.size());
  H5Pget_chunk(list, static_cast<int>(chunk.size()), chunk.data());
  hsize_t chunks = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) chunks *= (dims[d] + chunk[d] - 1) / chunk[d];
  return chunks;
}

/// An array of which nothing was ever written reads as its fill value. That is meant where somebody chose the value,
/// and where some of the chunks have others.
void expect_written(hid_t array, hid_t list, const std::string& where) {
  const Dims dims = dims_of_array(array);
  if (values_in(dims) == 0) return;
  H5D_fill_value_t fill{};
  H5Pfill_value_defined(list, &fill);
  const bool is_empty = H5Dget_storage_size(array) == 0;
  if (is_empty && fill != H5D_FILL_VALUE_USER_DEFINED)
    throw FileError(where, "holds no values: it was made with shape " + text_of(dims) + " and never written",
                    "write it, or give it a fill value if that is meant");
  if (is_empty) return warn_once(where, "no value was ever written: all read as the fill value");
  if (H5Pget_layout(list) != H5D_CHUNKED) return;
  const hsize_t due = chunks_due(list, dims);
  hsize_t written = 0;
  const Handle space(H5Dget_space(array), H5Sclose);
  if (H5Dget_num_chunks(array, space.get(), &written) >= 0 && written < due)
    warn_once(where, std::to_string(due - written) + " of " + std::to_string(due) +
                         " chunks were never written: they read as the fill value");
}

void expect(hid_t array, const std::string& file, const std::string& where, int depth) {
  if (depth > most_depth) throw FileError(where, "takes its values from itself, or from too many files in a row");
  const Handle list(H5Dget_create_plist(array), H5Pclose);
  expect_filters(list.get(), where);
  if (H5Pget_layout(list.get()) == H5D_VIRTUAL)
    expect_virtual(array, list.get(), file, where, depth);
  else if (H5Pget_external_count(list.get()) > 0)
    expect_raw_files(array, list.get(), file, where);
  else
    expect_written(array, list.get(), where);
}

std::string name_of_type(H5I_type_t type) {
  return type == H5I_GROUP ? "a group" : type == H5I_DATASET ? "a data set" : "a named type";
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

std::string what_instead(hid_t group, const std::string& name, H5I_type_t wanted) {
  const Quiet quiet;
  H5L_info_t info{};
  if (H5Lexists(group, name.c_str(), H5P_DEFAULT) <= 0 || H5Lget_info(group, name.c_str(), &info, H5P_DEFAULT) < 0)
    return "is not there";
  const Handle object(H5Oopen(group, name.c_str(), H5P_DEFAULT), H5Oclose);
  const H5I_type_t type = object.get() < 0 ? H5I_BADID : H5Iget_type(object.get());
  if (type >= 0 && type != wanted) return "is " + name_of_type(type) + ", not " + name_of_type(wanted);
  if (info.type == H5L_TYPE_HARD) {
    const std::string reason = quiet.reason();
    const bool is_newer = reason.find("version") != std::string::npos;
    return is_newer ? std::string("is written in a form that is newer than the HDF5 library here, ") + H5_VERS_INFO +
                          ", can read (write it with h5py's libver='earliest' or ('earliest', 'v110'))"
                    : "is damaged: " + reason;
  }
  std::vector<char> value(info.u.val_size + 1);
  const char *to = nullptr, *path = nullptr;
  unsigned flags = 0;
  if (H5Lget_val(group, name.c_str(), value.data(), value.size(), H5P_DEFAULT) < 0) return "is a damaged link";
  if (info.type == H5L_TYPE_SOFT)
    return std::string("is a link to '") + value.data() + "', which is not there, or leads in a circle";
  if (H5Lunpack_elink_val(value.data(), info.u.val_size, &flags, &to, &path) < 0) return "is a damaged link";
  return std::string("is a link to '") + path + "' of the file '" + to + "', which is not there, or leads in a circle";
}

}  // namespace cortado::hdf5
