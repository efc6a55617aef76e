#include "tests/golden/h5_file.h"

#include "core/base/error.h"

namespace cortado::test {
namespace {
/// Closes an HDF5 identifier of any kind.
class Handle {
 public:
  explicit Handle(hid_t id) : id_(id) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { H5Idec_ref(id_); }
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
};

Shape extent_of(hid_t space) {
  hsize_t dims[H5S_MAX_RANK];
  const int rank = H5Sget_simple_extent_dims(space, dims, nullptr);
  return Shape(dims, dims + (rank > 0 ? rank : 0));
}

herr_t add_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->push_back(name);
  return 0;
}
}  // namespace

H5File::H5File(const std::string& file) : file_(file), id_(0) {
  H5Eset_auto(H5E_DEFAULT, nullptr, nullptr);  // what fails is thrown, not printed
  id_ = checked(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "");
}

H5File::~H5File() { H5Fclose(id_); }

hid_t H5File::checked(hid_t id, const std::string& path) const {
  if (id < 0) throw FileError(file_, "HDF5 cannot read '" + path + "'");
  return id;
}

bool H5File::has(const std::string& path) const {
  for (std::size_t slash = path.find('/');; slash = path.find('/', slash + 1)) {
    if (H5Lexists(id_, path.substr(0, slash).c_str(), H5P_DEFAULT) <= 0) return false;
    if (slash == std::string::npos) return true;
  }
}

std::vector<std::string> H5File::members(const std::string& path) const {
  std::vector<std::string> names;
  if (!has(path)) return names;
  const Handle group(checked(H5Gopen(id_, path.c_str(), H5P_DEFAULT), path));
  H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, add_name, &names);
  return names;
}

Shape H5File::shape(const std::string& path) const {
  const Handle set(checked(H5Dopen(id_, path.c_str(), H5P_DEFAULT), path));
  return extent_of(Handle(H5Dget_space(set)));
}

std::vector<float> H5File::values(const std::string& path) const {
  std::vector<float> values(static_cast<std::size_t>(count_of(shape(path))));
  const Handle set(checked(H5Dopen(id_, path.c_str(), H5P_DEFAULT), path));
  checked(H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), path);
  return values;
}

bool H5File::has_attribute(const std::string& path, const std::string& name) const {
  return H5Aexists_by_name(id_, path.c_str(), name.c_str(), H5P_DEFAULT) > 0;
}

std::string H5File::text(const std::string& path, const std::string& name) const {
  const std::string what = path + "@" + name;
  const Handle attribute(checked(H5Aopen_by_name(id_, path.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), what));
  const Handle type(H5Aget_type(attribute));
  if (H5Tis_variable_str(type) <= 0) throw FileError(file_, "'" + what + "' is no string of variable length");
  char* characters = nullptr;
  checked(H5Aread(attribute, type, &characters), what);
  const std::string result = characters;
  H5free_memory(characters);
  return result;
}

std::vector<double> H5File::numbers(const std::string& path, const std::string& name) const {
  const std::string what = path + "@" + name;
  const Handle attribute(checked(H5Aopen_by_name(id_, path.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), what));
  const Shape extent = extent_of(Handle(H5Aget_space(attribute)));
  std::vector<double> values(static_cast<std::size_t>(count_of(extent)));
  if (!values.empty()) checked(H5Aread(attribute, H5T_NATIVE_DOUBLE, values.data()), what);
  return values;
}

}  // namespace cortado::test
