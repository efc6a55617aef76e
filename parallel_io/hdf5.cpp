#include "parallel_io/hdf5.h"

#include <unistd.h>

#include <cstdio>

#include "core/base/error.h"

namespace cortado::hdf5 {
namespace {

/// Silences HDF5's printing while it lives; the innermost reason of its error stack is what we report.
class Quiet {
 public:
  Quiet() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Quiet() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

  std::string reason() const {
    std::string text;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, &innermost, &text);
    return text.empty() ? "HDF5 gives no reason" : text;
  }

 private:
  static herr_t innermost(unsigned, const H5E_error2_t* error, void* text) {
    auto& out = *static_cast<std::string*>(text);
    if (out.empty() && error->desc != nullptr) out = error->desc;
    return 0;
  }
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

herr_t add_name(hid_t, const char* name, const H5L_info_t*, void* text) {
  auto& out = *static_cast<std::string*>(text);
  out += (out.empty() ? "" : ", ") + std::string(name);
  return 0;
}

Handle memory_space(const std::vector<hsize_t>& dims) {
  return {H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose};
}

/// The file space of a data set with samples [first, first + dims[0]) selected.
Handle selection(hid_t set, i64 first, const std::vector<hsize_t>& dims) {
  Handle space(H5Dget_space(set), H5Sclose);
  std::vector<hsize_t> start(dims.size(), 0);
  start[0] = static_cast<hsize_t>(first);
  H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, dims.data(), nullptr);
  return space;
}

}  // namespace

File::File(const std::string& name) : name_(name) {
  if (access(name.c_str(), R_OK) != 0)
    throw FileError(name, "cannot be read", "check the path and that it exists on every node");
  const Quiet quiet;
  file_ = Handle(H5Fopen(name.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (file_.get() < 0) throw FileError(name, "is not a whole HDF5 file: " + quiet.reason());
}

std::string File::listing() const {
  std::string names;
  H5Literate(file_.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, &add_name, &names);
  return names;
}

DataSet::DataSet(const File& file, const std::string& name) : where_(file.name() + ", data set '" + name + "'") {
  const Quiet quiet;
  set_ = Handle(H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Dclose);
  if (set_.get() < 0) throw FileError(file.name(), "has no data set '" + name + "'", "it has: " + file.listing());
  const Handle space(H5Dget_space(set_.get()), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 1) throw FileError(where_, "is a single value", "the first dimension must count samples");
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
  samples_ = static_cast<i64>(dims[0]);
  sample_shape_.assign(dims.begin() + 1, dims.end());
  const Handle type(H5Dget_type(set_.get()), H5Tclose);
  const H5T_class_t kind = H5Tget_class(type.get());
  if (kind != H5T_FLOAT && kind != H5T_INTEGER) throw FileError(where_, "does not hold numbers");
}

void DataSet::read(i64 first, i64 count, float* to) const {
  std::vector<hsize_t> dims(sample_shape_.begin(), sample_shape_.end());
  dims.insert(dims.begin(), static_cast<hsize_t>(count));
  const Quiet quiet;
  const Handle from = selection(set_.get(), first, dims), memory = memory_space(dims);
  if (H5Dread(set_.get(), H5T_NATIVE_FLOAT, memory.get(), from.get(), H5P_DEFAULT, to) < 0)
    throw FileError(where_, "cannot be read from sample " + std::to_string(first) + ": " + quiet.reason());
}

Writer::Writer(const std::string& name) : name_(name), beside_(name + ".part") {
  const Quiet quiet;
  file_ = Handle(H5Fcreate(beside_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  if (file_.get() < 0) fail("cannot be created: " + quiet.reason());
}

Writer::~Writer() {
  if (finished_) return;
  sets_.clear();
  file_ = Handle();
  std::remove(beside_.c_str());
}

void Writer::fail(const std::string& what) const {
  throw FileError(name_, what, "check the folder, its permissions and the space left");
}

std::size_t Writer::add(const std::string& name, i64 samples, const Shape& sample_shape, Type type) {
  std::vector<hsize_t> dims(sample_shape.begin(), sample_shape.end());
  dims.insert(dims.begin(), static_cast<hsize_t>(samples));
  const Handle space = memory_space(dims);
  const Quiet quiet;
  const hid_t stored = type == Type::float32 ? H5T_IEEE_F32LE : H5T_STD_U8LE;
  Handle id(H5Dcreate2(file_.get(), name.c_str(), stored, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
            H5Dclose);
  if (id.get() < 0) fail("data set '" + name + "' cannot be created: " + quiet.reason());
  sets_.push_back({name, std::move(id), std::move(dims)});
  return sets_.size() - 1;
}

void Writer::write(std::size_t set, i64 first, i64 count, const float* values) {
  if (count == 0) return;
  std::vector<hsize_t> dims = sets_[set].dims;
  dims[0] = static_cast<hsize_t>(count);
  const Quiet quiet;
  const Handle to = selection(sets_[set].id.get(), first, dims), memory = memory_space(dims);
  if (H5Dwrite(sets_[set].id.get(), H5T_NATIVE_FLOAT, memory.get(), to.get(), H5P_DEFAULT, values) < 0)
    fail("data set '" + sets_[set].name + "' cannot be written: " + quiet.reason());
}

void Writer::finish() {
  const Quiet quiet;
  if (H5Fflush(file_.get(), H5F_SCOPE_LOCAL) < 0) fail("cannot be written: " + quiet.reason());
  sets_.clear();
  file_ = Handle();
  if (std::rename(beside_.c_str(), name_.c_str()) != 0) fail("cannot be renamed from " + beside_);
  finished_ = true;
}

}  // namespace cortado::hdf5
