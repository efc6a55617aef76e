#include "parallel_io/sets/hdf5.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log_text.h"
#include "core/tensor/blob.h"
#include "parallel_io/sets/hdf5_sources.h"

namespace cortado::hdf5 {
namespace {
/// The names of the files that were opened for reading. (Another file may get a removed file's inode.)
std::set<std::string>& files_read() {
  static std::set<std::string> all;
  return all;
}

constexpr const char* path_of_all = "/proc/self/fd/";

/// A file that could not be closed for want of room stays open in the library, whose clean-up, at the end of the
/// process or in MPI_Finalize, would fall over it. All files are closed where they are used, so there is nothing to
/// clean up. HDF5 ties itself to MPI where that runs already when HDF5 starts.
const bool no_clean_up = H5dont_atexit() >= 0 && H5open() >= 0;

thread_local int error_number = 0;     // of the system, when HDF5 called
thread_local std::string last_reason;  // of this thread's last call that failed

/// One level of the stack, the innermost first.
herr_t add_level(unsigned level, const H5E_error2_t* error, void* text) {
  auto& out = *static_cast<std::string*>(text);
  out += "  #" + std::to_string(level) + " " + (error->func_name != nullptr ? error->func_name : "") + ": " +
         (error->desc != nullptr ? error->desc : "") + "\n";
  return 0;
}

/// Why disks do not take or give bytes.
constexpr int disk_errors[] = {ENOSPC, EDQUOT, EFBIG, EROFS, EIO, EACCES, EPERM, EMFILE, ESTALE};

/// The system's reason, if it gave one. It stands among numbers, or among an MPI library's words. It is in errno behind
/// "fwrite failed" and its like, and where a later error has hidden it.
std::string reason_of(const std::string& sentence, int error) {
  const std::string before = "error message = '", failed = " failed";
  const auto begin = sentence.find(before);
  if (begin != std::string::npos) {
    const auto end = sentence.find('\'', begin + before.size());
    return sentence.substr(begin + before.size(), end - begin - before.size());
  }
  for (const int one : disk_errors)
    if (sentence.find(std::strerror(one)) != std::string::npos) return std::strerror(one);
  const auto end = sentence.find(failed);
  const bool is_function = sentence[0] == 'f' && end != std::string::npos && end + failed.size() == sentence.size() &&
                           sentence.find(' ') == end;
  const bool is_disk = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return (is_function && error != 0) || is_disk ? std::strerror(error) : sentence;
}

/// Why a file that is there is no HDF5 file for the library.
std::string open_failure(const std::string& reason, i64 bytes) {
  unsigned long long end = 0, base = 0, due = 0;
  if (std::sscanf(reason.c_str(), "truncated file: eof = %llu, sblock->base_addr = %llu, stored_eof = %llu", &end,
                  &base, &due) == 3)
    return "is not a whole HDF5 file: it has " + std::to_string(bytes) + " bytes, " + std::to_string(base + due) +
           " are due";
  if (bytes < 96) return "is not a whole HDF5 file: it has " + std::to_string(bytes) + " bytes";
  if (reason.find("signature") != std::string::npos)
    return "is not a whole HDF5 file: its first bytes are another format's";
  for (const int one : disk_errors)
    if (reason == std::strerror(one)) return "cannot be read: " + reason;
  if (reason == std::strerror(EAGAIN)) return "cannot be read: another process has it open for writing";
  return "is not a whole HDF5 file: it is damaged";
}

herr_t innermost(unsigned, const H5E_error2_t* error, void* text) {
  auto& out = *static_cast<std::string*>(text);
  if (out.empty() && error->desc != nullptr) out = reason_of(error->desc, error_number);
  return 0;
}

/// HDF5 calls it when one of its functions fails, in place of printing.
herr_t note_failure(hid_t stack, void*) {
  error_number = errno;
  std::string levels;
  last_reason.clear();
  H5Ewalk2(stack, H5E_WALK_UPWARD, &innermost, &last_reason);
  H5Ewalk2(stack, H5E_WALK_UPWARD, &add_level, &levels);
  log_text(Severity::debug, __FILE__, __LINE__, "HDF5's errors, the innermost first:", levels);
  return 0;
}

/// Each thread has its own stack of errors, and its own setting, where the library was built for several.
void stop_printing() {
  thread_local bool done = false;
  if (done) return;
  done = true;
  H5Eset_auto2(H5E_DEFAULT, &note_failure, nullptr);
}

herr_t add_name(hid_t, const char* name, const H5L_info_t*, void* text) {
  auto& out = *static_cast<std::string*>(text);
  out += (out.empty() ? "" : ", ") + std::string(name);
  return 0;
}

Handle memory_space(const std::vector<hsize_t>& dims) {
  return {H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose};
}

/// The library keeps about a kilobyte for each chunk that one reading touches.
constexpr hsize_t most_chunks = 1 << 16;

/// The number of chunks that the box touches; more than most_chunks may be any number.
hsize_t chunks_in(const std::vector<hsize_t>& chunk, const std::vector<hsize_t>& start,
                  const std::vector<hsize_t>& dims) {
  hsize_t count = 1;
  for (std::size_t d = 0; d < chunk.size() && count <= most_chunks; ++d)
    count *= (start[d] + dims[d] - 1) / chunk[d] - start[d] / chunk[d] + 1;
  return count;
}

std::vector<hsize_t> chunk_of(hid_t set, std::size_t rank) {
  const Handle made(H5Dget_create_plist(set), H5Pclose);
  if (rank == 0 || H5Pget_layout(made.get()) != H5D_CHUNKED) return {};
  std::vector<hsize_t> chunk(rank);
  H5Pget_chunk(made.get(), static_cast<int>(rank), chunk.data());
  return chunk;
}

/// A box whose values lie one after another at `to`; so do those of its parts, which are cut along the first
/// dimension that has more than one place.
bool read_box(hid_t set, const std::vector<hsize_t>& chunk, std::vector<hsize_t> start, std::vector<hsize_t> dims,
              float* to) {
  if (chunks_in(chunk, start, dims) <= most_chunks) {
    const Handle from(H5Dget_space(set), H5Sclose), memory = memory_space(dims);
    if (!dims.empty()) H5Sselect_hyperslab(from.get(), H5S_SELECT_SET, start.data(), nullptr, dims.data(), nullptr);
    return H5Dread(set, H5T_NATIVE_FLOAT, memory.get(), from.get(), H5P_DEFAULT, to) >= 0;
  }
  const auto first = std::find_if(dims.begin(), dims.end(), [](hsize_t n) { return n > 1; });
  const auto d = static_cast<std::size_t>(first - dims.begin());
  const hsize_t all = dims[d], middle = start[d] + all / 2, at_chunk = middle / chunk[d] * chunk[d],
                lower = (at_chunk > start[d] ? at_chunk : middle) - start[d];
  hsize_t values = lower;
  for (std::size_t i = d + 1; i < dims.size(); ++i) values *= dims[i];
  dims[d] = lower;
  if (!read_box(set, chunk, start, dims, to)) return false;
  start[d] += lower;
  dims[d] = all - lower;
  return read_box(set, chunk, start, dims, to + values);
}

bool holds(hid_t set, hid_t wanted) {
  const Quiet quiet;
  const Handle type(H5Dget_type(set), H5Tclose);
  return H5Tequal(type.get(), wanted) > 0;
}

Handle scalar_or_list(std::size_t count) {
  const hsize_t n = count;
  return {H5Screate_simple(1, &n, nullptr), H5Sclose};
}

Handle variable_string() {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

void put_attribute(hid_t of, const std::string& name, hid_t stored, hid_t memory, hid_t space, const void* values,
                   const std::string& where) {
  const Quiet quiet;
  const Handle attribute(H5Acreate2(of, name.c_str(), stored, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (attribute.get() < 0 || H5Awrite(attribute.get(), memory, values) < 0)
    throw FileError(where, "cannot be written: " + quiet.reason());
}

}  // namespace

std::unique_lock<std::recursive_mutex> library_lock() {
  static std::recursive_mutex mutex;
  std::unique_lock<std::recursive_mutex> lock(mutex);
  stop_printing();
  return lock;
}

Quiet::Quiet() : lock_(library_lock()) {
  last_reason.clear();
  errno = 0;  // note_failure looks there
}

std::string Quiet::reason() const { return last_reason.empty() ? "HDF5 gives no reason" : last_reason; }

void flush(hid_t file, const std::string& where) {
  const Quiet quiet;
  if (H5Fflush(file, H5F_SCOPE_LOCAL) < 0) throw FileError(where, "cannot be written: " + quiet.reason());
}

void write_attribute(hid_t of, const std::string& name, i64 value, const std::string& where) {
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  put_attribute(of, name, H5T_STD_I64LE, H5T_NATIVE_INT64, space.get(), &value, where);
}

void write_attribute(hid_t of, const std::string& name, const std::vector<double>& values, const std::string& where) {
  put_attribute(of, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, scalar_or_list(values.size()).get(), values.data(), where);
}

void write_attribute(hid_t of, const std::string& name, const std::vector<std::string>& values,
                     const std::string& where) {
  std::vector<const char*> texts;
  for (const auto& value : values) texts.push_back(value.c_str());
  const Handle type = variable_string();
  put_attribute(of, name, type.get(), type.get(), scalar_or_list(texts.size()).get(), texts.data(), where);
}

bool has_attribute(hid_t of, const std::string& name) {
  const Quiet quiet;
  return H5Aexists(of, name.c_str()) > 0;
}

i64 read_number(hid_t of, const std::string& name, const std::string& where) {
  const Quiet quiet;
  const Handle attribute(H5Aopen(of, name.c_str(), H5P_DEFAULT), H5Aclose);
  i64 value = 0;
  const Handle space(attribute.get() < 0 ? -1 : H5Aget_space(attribute.get()), H5Sclose);
  if (attribute.get() < 0 || H5Sget_simple_extent_npoints(space.get()) != 1 ||
      H5Aread(attribute.get(), H5T_NATIVE_INT64, &value) < 0)
    throw FileError(where, "has no number '" + name + "'");
  return value;
}

std::vector<std::string> read_strings(hid_t of, const std::string& name, const std::string& where) {
  const Quiet quiet;
  const Handle attribute(H5Aopen(of, name.c_str(), H5P_DEFAULT), H5Aclose);
  const Handle space(attribute.get() < 0 ? -1 : H5Aget_space(attribute.get()), H5Sclose), type = variable_string();
  const hssize_t count = space.get() < 0 ? -1 : H5Sget_simple_extent_npoints(space.get());
  std::vector<char*> texts(static_cast<std::size_t>(count < 0 ? 0 : count));
  if (count < 0 || H5Aread(attribute.get(), type.get(), texts.data()) < 0)
    throw FileError(where, "has no texts '" + name + "'");
  const std::vector<std::string> values(texts.begin(), texts.end());
  H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, texts.data());
  return values;
}

Handle access_to(const std::string& file) {
  Handle list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (file.rfind(path_of_all, 0) == 0) H5Pset_fapl_stdio(list.get());
  return list;
}

bool File::was_read(const std::string& name) {
  const auto names = names_of(name);
  const auto lock = library_lock();
  return !names.empty() && files_read().count(names.front()) > 0;
}

File::File(const std::string& name) : name_(name) {
  expect_readable(name);
  {
    const auto names = names_of(name);
    const auto lock = library_lock();
    files_read().insert(names.begin(), names.end());
  }
  const Quiet quiet;
  file_ = Handle(H5Fopen(name.c_str(), H5F_ACC_RDONLY, access_to(name).get()), H5Fclose);
  if (file_.get() < 0) throw FileError(name, open_failure(quiet.reason(), bytes_of(open_regular(name), name)));
}

std::string File::listing() const {
  const Quiet quiet;
  std::string names;
  H5Literate(file_.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, &add_name, &names);
  return names;
}

bool read_floats(hid_t set, const std::vector<hsize_t>& start, const std::vector<hsize_t>& dims, float* to) {
  if (std::find(dims.begin(), dims.end(), hsize_t{0}) != dims.end()) return true;
  return read_box(set, chunk_of(set, dims.size()), start, dims, to);
}

namespace {
/// The access property list with which a chunk, which may hold many samples, is unpacked once for samples in a row,
/// within `most` bytes. HDF5 keeps chunks of up to 1 MB by itself.
Handle access_of(hid_t set, hsize_t most) {
  constexpr hsize_t least = 1 << 20;
  Handle access(H5Dget_access_plist(set), H5Pclose);
  const Handle made(H5Dget_create_plist(set), H5Pclose);
  if (H5Pget_layout(made.get()) != H5D_CHUNKED) return access;
  hsize_t chunk[H5S_MAX_RANK] = {}, dims[H5S_MAX_RANK] = {};
  const int rank = H5Pget_chunk(made.get(), H5S_MAX_RANK, chunk);
  const Handle space(H5Dget_space(set), H5Sclose), type(H5Dget_type(set), H5Tclose);
  H5Sget_simple_extent_dims(space.get(), dims, nullptr);
  hsize_t row = chunk[0] * H5Tget_size(type.get());  // the chunks that hold one sample, and its neighbours in them
  for (int d = 1; d < rank && row <= most; ++d) row *= (dims[d] + chunk[d] - 1) / chunk[d] * chunk[d];
  H5Pset_chunk_cache(access.get(), H5D_CHUNK_CACHE_NSLOTS_DEFAULT, std::max(least, std::min(row, most)),
                     H5D_CHUNK_CACHE_W0_DEFAULT);
  return access;
}

bool has_link(hid_t group, const std::string& name) { return H5Lexists(group, name.c_str(), H5P_DEFAULT) > 0; }
}  // namespace

Array::Array(const File& file, const std::string& name, i64 most_cached)
    : where_(file.name() + ", data set '" + name + "'") {
  const Quiet quiet;
  if (has_link(file.id(), name)) expect_link(file.id(), name, file.name(), where_);
  set_ = Handle(H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Dclose);
  if (set_.get() < 0 && !has_link(file.id(), name))
    throw FileError(file.name(), "has no data set '" + name + "'", "it has: " + file.listing());
  if (set_.get() < 0) throw FileError(file.name(), "'" + name + "' " + what_instead(file.id(), name, H5I_DATASET));
  expect_sources(set_.get(), file.name(), where_);
  const Handle access = access_of(set_.get(), static_cast<hsize_t>(most_cached));
  set_ = Handle();  // an open array keeps the cache that it was opened with
  set_ = Handle(H5Dopen2(file.id(), name.c_str(), access.get()), H5Dclose);
  const Handle space(H5Dget_space(set_.get()), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 1) throw FileError(where_, "is a single value", "the first dimension must count samples");
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
  if (!counted({dims.begin(), dims.end()})) throw FileError(where_, "has more values than can be counted");
  samples_ = static_cast<i64>(dims[0]);
  sample_shape_.assign(dims.begin() + 1, dims.end());
  const Handle type(H5Dget_type(set_.get()), H5Tclose);
  const H5T_class_t kind = H5Tget_class(type.get());
  if (kind != H5T_FLOAT && kind != H5T_INTEGER) throw FileError(where_, "does not hold numbers");
}

bool Array::is_uint8() const { return holds(set_.get(), H5T_NATIVE_UINT8); }
bool Array::is_float32() const { return holds(set_.get(), H5T_NATIVE_FLOAT); }

i64 Array::offset() const {
  const Quiet quiet;
  const Handle list(H5Dget_create_plist(set_.get()), H5Pclose);
  if (H5Pget_layout(list.get()) != H5D_CONTIGUOUS || H5Pget_external_count(list.get()) > 0) return -1;
  const haddr_t offset = H5Dget_offset(set_.get());
  return offset == HADDR_UNDEF ? -1 : static_cast<i64>(offset);
}

void Array::read(i64 first, i64 count, float* to) const {
  std::vector<hsize_t> dims(sample_shape_.begin(), sample_shape_.end());
  dims.insert(dims.begin(), static_cast<hsize_t>(count));
  std::vector<hsize_t> start(dims.size(), 0);
  start[0] = static_cast<hsize_t>(first);
  const Quiet quiet;
  if (!read_floats(set_.get(), start, dims, to))
    throw FileError(where_, "cannot be read from sample " + std::to_string(first) + ": " + quiet.reason());
}

}  // namespace cortado::hdf5
