#include "parallel_io/weights/hdf5_weights.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>
#include <map>
#include <sstream>

#include "core/base/error.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/files.h"
#include "core/formats/prototxt.h"
#include "core/machine/free_memory.h"
#include "core/tensor/blob.h"
#include "parallel_io/sets/hdf5.h"
#include "parallel_io/sets/hdf5_sources.h"

namespace cortado {
namespace {
using hdf5::Handle;
using hdf5::Quiet;
constexpr const char* statistics_group = "cortado_statistics";  // of a state
constexpr const char* averaged_group = "cortado_averaged_statistics";
constexpr int most_blobs = 1024;  // of one layer; a name that is a larger number is no blob's

// Reading.

enum class Part { data, diff };

std::string path_of(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

herr_t add_name(hid_t, const char* name, const H5L_info_t*, void* list) {
  static_cast<std::vector<std::string>*>(list)->push_back(name);
  return 0;
}

std::vector<std::string> members_of(hid_t group, const std::string& where) {
  const Quiet quiet;
  std::vector<std::string> names;
  if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, &add_name, &names) < 0)
    throw FileError(where, "cannot be read: " + quiet.reason());
  return names;
}

Handle open_member(hid_t of, const std::string& name, const std::string& where) {
  const Quiet quiet;
  Handle object(H5Oopen(of, name.c_str(), H5P_DEFAULT), H5Oclose);
  if (object.get() < 0) throw FileError(where, hdf5::what_instead(of, name, H5I_DATASET));
  return object;
}

bool has_member(const hdf5::File& file, const std::string& name) {
  const Quiet quiet;
  return H5Lexists(file.id(), name.c_str(), H5P_DEFAULT) > 0;
}

/// A member at the top of a file; throws FileError that says what is there instead.
Handle open_top(const hdf5::File& file, const std::string& name, H5I_type_t kind, const std::string& what) {
  Handle object;
  if (has_member(file, name)) {
    hdf5::expect_link(file.id(), name, file.name(), file.name() + ", '" + name + "'");
    object = open_member(file.id(), name, file.name() + ", '" + name + "'");
    if (H5Iget_type(object.get()) != kind)
      throw FileError(file.name(), "is no " + what + ": '" + name + "' " + hdf5::what_instead(file.id(), name, kind));
  }
  if (object.get() < 0)
    throw FileError(file.name(),
                    "is no " + what + ": it has no " + (kind == H5I_GROUP ? "group" : "data set") + " '" + name + "'",
                    "it has: " + file.listing());
  return object;
}

Shape shape_of_set(hid_t set, const std::string& where) {
  const Quiet quiet;
  const Handle space(H5Dget_space(set), H5Sclose), type(H5Dget_type(set), H5Tclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  std::vector<hsize_t> dims(static_cast<std::size_t>(std::max(0, rank)));
  if (rank < 0 || H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr) < 0)
    throw FileError(where, "is no array");
  const H5T_class_t kind = H5Tget_class(type.get());
  if (kind != H5T_FLOAT && kind != H5T_INTEGER) throw FileError(where, "does not hold numbers");
  return {dims.begin(), dims.end()};
}

/// The most values of a data set that its file can hold, by its size. Values in other files are ignored.
i64 most_values(hid_t set) {
  const Quiet quiet;
  const Handle file(H5Iget_file_id(set), H5Fclose), list(H5Dget_create_plist(set), H5Pclose),
      type(H5Dget_type(set), H5Tclose);
  const H5D_layout_t layout = H5Pget_layout(list.get());
  if (layout == H5D_VIRTUAL || H5Pget_external_count(list.get()) > 0) return INT_MAX;
  hsize_t bytes = 0;
  H5Fget_filesize(file.get(), &bytes);
  const hsize_t packed = layout == H5D_CHUNKED ? 1032 : 1;  // what deflate reaches
  return static_cast<i64>(bytes * packed / std::max<std::size_t>(1, H5Tget_size(type.get())));
}

void read_blob(hid_t set, const std::string& file, const std::string& where, Part part, caffe::BlobProto& blob) {
  const Shape shape = shape_of_set(set, where);
  const i64 count = counted(shape).value_or(i64{INT_MAX} + 1);
  if (count > INT_MAX) throw FileError(where, "has more values than a blob can hold");
  if (count > most_values(set)) throw FileError(where, "has more values than the file can hold", "it is damaged");
  hdf5::expect_sources(set, file, where);
  blob.clear_shape();
  for (const i64 d : shape) blob.mutable_shape()->add_dim(d);
  blob.mutable_shape();  // of a single value too
  require_memory(where, static_cast<std::size_t>(count) * sizeof(float));
  auto& to = part == Part::data ? *blob.mutable_data() : *blob.mutable_diff();
  to.Resize(static_cast<int>(count), 0);
  const Quiet quiet;
  const std::vector<hsize_t> start(shape.size(), 0), dims(shape.begin(), shape.end());
  if (!hdf5::read_floats(set, start, dims, to.mutable_data()))
    throw FileError(where, "cannot be read: " + quiet.reason());
}

/// The number that a blob is named by.
int blob_index(const std::string& name, const std::string& where) {
  const bool digits = !name.empty() && name.size() < 5 &&
                      std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
  const int index = digits ? std::stoi(name) : most_blobs;
  if (index >= most_blobs) throw FileError(where, "is no blob of a layer, which are called 0, 1, ...");
  return index;
}

caffe::BlobProto& blob_at(google::protobuf::RepeatedPtrField<caffe::BlobProto>& blobs, int index) {
  while (blobs.size() <= index) blobs.Add();
  return *blobs.Mutable(index);
}

/// Reads the groups of one file into a message, layer by layer.
class WeightReader {
 public:
  WeightReader(const hdf5::File& file, caffe::NetParameter& weights) : file_(file), weights_(weights) {}

  void read(const std::string& top, Part part) {
    const Handle group = open_top(file_, top, H5I_GROUP, "file of weights");
    for (const auto& name : members_of(group.get(), file_.name()))
      read_layer(follow(group.get(), name, top + "/" + name), name, top, part, 1);
  }

 private:
  std::string where(const std::string& path) const { return file_.name() + ", '" + path + "'"; }

  caffe::LayerParameter& layer(const std::string& name) {
    auto& found = layers_[name];
    if (found == nullptr) (found = weights_.add_layer())->set_name(name);
    return *found;
  }

  /// Reads everything below a group: blobs, and groups of layers whose names go on behind a slash.
  void read_layer(const Handle& group, const std::string& name, const std::string& top, Part part, int depth) {
    const std::string path = top + "/" + name;
    if (depth > most_depth || ++groups_ > most_groups)
      throw FileError(where(path.substr(0, 80)), "lies below more groups than the layers of any net",
                      "links that lead back above themselves do that");
    if (H5Iget_type(group.get()) != H5I_GROUP) throw FileError(where(path), "is no layer's group");
    bool others = false;
    for (const auto& member : members_of(group.get(), where(path))) {
      const std::string place = where(path + "/" + member);
      const Handle object = follow(group.get(), member, path + "/" + member);
      if (H5Iget_type(object.get()) == H5I_GROUP) {
        others = true;
        read_layer(object, path_of(name, member), top, part, depth + 1);
      } else if (H5Iget_type(object.get()) == H5I_DATASET) {
        auto& blobs = *layer(name).mutable_blobs();
        read_blob(object.get(), file_.name(), place, part, blob_at(blobs, blob_index(member, place)));
      }
    }
    if (!others) layer(name);
  }

  /// Opens a member, through links.
  Handle follow(hid_t group, const std::string& name, const std::string& path) const {
    hdf5::expect_link(group, name, file_.name(), where(path));
    return open_member(group, name, where(path));
  }

  static constexpr int most_depth = 64, most_groups = 1 << 16;
  const hdf5::File& file_;
  int groups_ = 0;
  caffe::NetParameter& weights_;
  std::map<std::string, caffe::LayerParameter*> layers_;
};

int read_int(const hdf5::File& file, const std::string& name) {
  const Handle set = open_top(file, name, H5I_DATASET, "solver state");
  const std::string where = file.name() + ", '" + name + "'";
  if (count_of(shape_of_set(set.get(), where)) != 1) throw FileError(where, "is not one number");
  const Quiet quiet;
  double value = 0;  // holds every int, and tells what is none
  if (H5Dread(set.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) < 0)
    throw FileError(where, "cannot be read: " + quiet.reason());
  if (!(value >= INT_MIN && value <= INT_MAX) || value != std::floor(value)) {
    std::ostringstream text;
    text << "is " << value << ", no whole number that an int holds";
    throw FileError(where, text.str(), "the file is damaged");
  }
  return static_cast<int>(value);
}

/// A state's list of blobs, "0", "1", ... in a group.
void read_blobs(const hdf5::File& file, const std::string& name,
                google::protobuf::RepeatedPtrField<caffe::BlobProto>& blobs) {
  const Handle group = open_top(file, name, H5I_GROUP, "solver state");
  const auto names = members_of(group.get(), file.name());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string number = std::to_string(i), where = file.name() + ", '" + name + "/" + number + "'";
    hdf5::expect_link(group.get(), number, file.name(), where);
    const Handle set = open_member(group.get(), number, where);
    if (H5Iget_type(set.get()) != H5I_DATASET)
      throw FileError(where, hdf5::what_instead(group.get(), number, H5I_DATASET));
    read_blob(set.get(), file.name(), where, Part::data, *blobs.Add());
  }
}

std::string read_string(const hdf5::File& file, const std::string& name) {
  const Handle set = open_top(file, name, H5I_DATASET, "solver state");
  const Quiet quiet;
  const Handle type(H5Dget_type(set.get()), H5Tclose), space(H5Dget_space(set.get()), H5Sclose);
  const std::string where = file.name() + ", '" + name + "'";
  if (H5Tget_class(type.get()) != H5T_STRING || H5Sget_simple_extent_npoints(space.get()) != 1)
    throw FileError(where, "is no text");
  const auto read = [&](void* to) {
    if (H5Dread(set.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, to) < 0)
      throw FileError(where, "cannot be read: " + quiet.reason());
  };
  if (H5Tis_variable_str(type.get()) > 0) {
    char* text = nullptr;
    read(&text);
    const std::string copy = text == nullptr ? "" : text;
    H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, &text);
    return copy;
  }
  std::string text(H5Tget_size(type.get()), '\0');
  read(text.data());
  return text.substr(0, text.find('\0'));
}

// Writing.

/// An HDF5 file that is being written.
class NewHdf5 {
 public:
  /// `name` stands in errors, `beside` is where the file is for the time being.
  NewHdf5(const std::string& name, const std::string& beside) : name_(name) {
    file_ = Handle(H5Fcreate(beside.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, hdf5::access_to(beside).get()), H5Fclose);
    check(file_.get() >= 0);
    groups_ = Handle(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    H5Pset_create_intermediate_group(groups_.get(), 1);
  }

  /// Opens or makes a group; a path with slashes makes those on its way.
  Handle group(const std::string& path) const {
    Handle group(H5Gopen2(file_.get(), path.c_str(), H5P_DEFAULT), H5Gclose);
    if (group.get() < 0)
      group = Handle(H5Gcreate2(file_.get(), path.c_str(), groups_.get(), H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    check(group.get() >= 0);
    return group;
  }

  void floats(hid_t group, const std::string& name, const caffe::BlobShape& shape, const float* values) const {
    const std::vector<hsize_t> dims(shape.dim().begin(), shape.dim().end());
    const Handle space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose);
    write(group, name, H5T_NATIVE_FLOAT, space, values);
  }

  void number(const std::string& name, int value) const {
    const hsize_t one = 1;
    const Handle space(H5Screate_simple(1, &one, nullptr), H5Sclose);
    write(file_.get(), name, H5T_NATIVE_INT, space, &value);
  }

  void text(const std::string& name, const std::string& value) const {
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose), type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), value.size() + 1);
    write(file_.get(), name, type.get(), space, value.c_str());
  }

  /// Writes the rest from memory to the file. Closing would not report its failure.
  void flush() const { hdf5::flush(file_.get(), name_); }

 private:
  void write(hid_t group, const std::string& name, hid_t type, const Handle& space, const void* values) const {
    const Handle set(H5Dcreate2(group, name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                     H5Dclose);
    check(set.get() >= 0 && H5Dwrite(set.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  }
  void check(bool good) const {
    if (!good)
      throw FileError(name_, "cannot be written: " + quiet_.reason(), "check its folder, permissions and free space");
  }

  Quiet quiet_;
  std::string name_;
  Handle file_, groups_;
};

/// A name that is no path of groups: such a layer cannot have blobs in HDF5.
bool is_path(const std::string& name) {
  return !name.empty() && name.front() != '/' && name.back() != '/' && name.find("//") == std::string::npos;
}

void write_layer(const NewHdf5& file, const std::string& name, const caffe::LayerParameter& layer, Part part) {
  if (!is_path(layer.name())) {
    if (layer.blobs_size() > 0) throw FileError(name, "cannot hold a layer of the name '" + layer.name() + "'");
    return;
  }
  const Handle group = file.group((part == Part::data ? "data/" : "diff/") + layer.name());
  for (int i = 0; i < layer.blobs_size(); ++i) {
    const auto& blob = layer.blobs(i);
    const auto& from = part == Part::data ? blob.data() : blob.diff();
    const bool empty = blob.has_shape() && count_of({blob.shape().dim().begin(), blob.shape().dim().end()}) == 0;
    if (!from.empty() || (empty && part == Part::data))
      file.floats(group.get(), std::to_string(i), blob.shape(), from.data());
  }
}

void write_blobs(const NewHdf5& file, const std::string& name,
                 const google::protobuf::RepeatedPtrField<caffe::BlobProto>& blobs) {
  const Handle group = file.group(name);
  for (int i = 0; i < blobs.size(); ++i)
    file.floats(group.get(), std::to_string(i), blobs[i].shape(), blobs[i].data().data());
}

bool has_gradients(const caffe::NetParameter& weights) {
  for (const auto& layer : weights.layer())
    for (const auto& blob : layer.blobs())
      if (blob.diff_size() > 0) return true;
  return false;
}

}  // namespace

void Hdf5Weights::read_weights(const std::string& file, caffe::NetParameter& weights) const {
  weights.Clear();
  const hdf5::File from(file);
  WeightReader reader(from, weights);
  reader.read("data", Part::data);
  if (has_member(from, "diff")) reader.read("diff", Part::diff);
}

void Hdf5Weights::write_weights(const std::string& file, const caffe::NetParameter& weights) const {
  replace_file_by_name(file, [&](const std::string& beside) {
    const NewHdf5 to(file, beside);
    to.group("data");
    for (const auto& layer : weights.layer()) write_layer(to, file, layer, Part::data);
    if (has_gradients(weights))
      for (const auto& layer : weights.layer()) write_layer(to, file, layer, Part::diff);
    to.flush();
  });
}

void Hdf5Weights::read_state(const std::string& file, caffe::SolverState& state) const {
  state.Clear();
  const hdf5::File from(file);
  state.set_iter(read_int(from, "iter"));
  state.set_current_step(read_int(from, "current_step"));
  if (has_member(from, "learned_net")) state.set_learned_net(read_string(from, "learned_net"));
  read_blobs(from, "history", *state.mutable_history());
  if (has_member(from, "cortado")) parse_text(read_string(from, "cortado"), file, *state.mutable_cortado());
  if (has_member(from, statistics_group))
    read_blobs(from, statistics_group, *state.mutable_cortado()->mutable_statistics());
  if (has_member(from, averaged_group))
    read_blobs(from, averaged_group, *state.mutable_cortado()->mutable_averaged_statistics());
}

void Hdf5Weights::write_state(const std::string& file, const caffe::SolverState& state) const {
  replace_file_by_name(file, [&](const std::string& beside) {
    const NewHdf5 to(file, beside);
    to.number("iter", state.iter());
    to.text("learned_net", state.learned_net());
    to.number("current_step", state.current_step());
    write_blobs(to, "history", state.history());
    caffe::CortadoState own = state.cortado();
    own.clear_statistics();
    own.clear_averaged_statistics();
    if (state.has_cortado()) to.text("cortado", to_text(own));
    if (state.cortado().statistics_size() > 0) write_blobs(to, statistics_group, state.cortado().statistics());
    if (state.cortado().averaged_statistics_size() > 0)
      write_blobs(to, averaged_group, state.cortado().averaged_statistics());
    to.flush();
  });
}

}  // namespace cortado
