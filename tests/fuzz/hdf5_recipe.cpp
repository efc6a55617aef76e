#include "tests/fuzz/hdf5_recipe.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "parallel_io/sets/hdf5.h"

namespace cortado::fuzz {
namespace {
using hdf5::Handle;
using Words = std::vector<std::string>;

// A byte stands for one of these, modulo their number.
const Words steps = {"up", "group", "set", "soft", "hard", "external", "virtual", "attribute"};
const Words names = {"data",    "label", "diff",     "0",          "1",           "2",       "10",
                     "a",       "b",     "c",        "d",          "iter",        "history", "current_step",
                     "cortado", "x/y",   "data_crc", "data_place", "learned_net", "samples", "cortado_statistics",
                     ".",       "/",     "../0",     "block_done", "label_place", "stripes", "\xff\n\x1b[1m"};
const Words types = {"float", "double", "int", "uint8", "int64", "text", "texts", "pair", "bits"};
const Words layouts = {"contiguous", "chunked", "packed", "compact", "outside"};
constexpr hsize_t sizes[] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 100, 1 << 20, hsize_t{1} << 31, hsize_t{1} << 40, ~hsize_t{0} >> 1};
constexpr double numbers[] = {0, 1, -1, 0.5, 7, 2, NAN, INFINITY, 1e300, -2147483649.0, 1e9, 3};
constexpr hsize_t most_written = 256;  // values; of larger arrays there is the claim alone

std::size_t index_of(const Words& all, const std::string& word) {
  const auto found = std::find(all.begin(), all.end(), word);
  if (found == all.end()) throw std::runtime_error("no word of recipes: " + word);
  return static_cast<std::size_t>(found - all.begin());
}

class Cook {
 public:
  Cook(const std::string& file, const std::string& beside, const std::uint8_t* recipe, std::size_t size)
      : beside_(beside), next_(recipe), end_(recipe + size) {
    groups_.emplace_back(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    for (int step = 0; step < most_steps && next_ != end_; ++step) follow(word(steps));
  }

 private:
  static constexpr int most_steps = 200;

  unsigned byte() { return next_ == end_ ? 0 : *next_++; }
  const std::string& word(const Words& all) { return all[byte() % all.size()]; }
  hid_t here() const { return groups_.back().get(); }

  void follow(const std::string& step) {
    if (step == "up") {
      if (groups_.size() > 1) groups_.pop_back();
      return;
    }
    const std::string& name = word(names);
    if (step == "group") {
      Handle group(H5Gcreate2(here(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
      if (group.get() < 0) group = Handle(H5Gopen2(here(), name.c_str(), H5P_DEFAULT), H5Gclose);
      if (group.get() >= 0) groups_.push_back(std::move(group));
    } else if (step == "set") {
      add_set(name);
    } else if (step == "attribute") {
      add_attribute(name);
    } else if (step == "virtual") {
      add_virtual(name);
    } else {
      const std::string& to = word(names);
      if (step == "soft") H5Lcreate_soft(to.c_str(), here(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
      if (step == "hard") H5Lcreate_hard(groups_[0].get(), to.c_str(), here(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
      if (step == "external")
        H5Lcreate_external(beside_.c_str(), to.c_str(), here(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    }
  }

  static Handle type_of(const std::string& type) {
    if (type == "float") return {H5Tcopy(H5T_NATIVE_FLOAT), H5Tclose};
    if (type == "double") return {H5Tcopy(H5T_IEEE_F64BE), H5Tclose};
    if (type == "int") return {H5Tcopy(H5T_NATIVE_INT), H5Tclose};
    if (type == "uint8") return {H5Tcopy(H5T_NATIVE_UINT8), H5Tclose};
    if (type == "int64") return {H5Tcopy(H5T_STD_I64BE), H5Tclose};
    if (type == "bits") return {H5Tcopy(H5T_NATIVE_B16), H5Tclose};
    if (type == "pair") {
      Handle pair(H5Tcreate(H5T_COMPOUND, 8), H5Tclose);
      H5Tinsert(pair.get(), "x", 0, H5T_NATIVE_FLOAT);
      H5Tinsert(pair.get(), "y", 4, H5T_NATIVE_INT);
      return pair;
    }
    Handle text(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(text.get(), type == "texts" ? H5T_VARIABLE : 8);
    return text;
  }

  std::vector<hsize_t> dims() {
    std::vector<hsize_t> all(byte() % 5);
    for (hsize_t& d : all) d = sizes[byte() % std::size(sizes)];
    return all;
  }
  static Handle space_of(const std::vector<hsize_t>& dims) {
    return {
        dims.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr),
        H5Sclose};
  }

  /// How the array lies in its file.
  Handle layout_of(const std::string& layout, const std::vector<hsize_t>& dims) const {
    Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    if (layout == "compact") H5Pset_layout(list.get(), H5D_COMPACT);
    if (layout == "outside") H5Pset_external(list.get(), beside_.c_str(), 0, H5F_UNLIMITED);
    if (layout != "chunked" && layout != "packed") return list;
    std::vector<hsize_t> chunk(dims);
    for (hsize_t& d : chunk) d = std::clamp<hsize_t>(d, 1, 4);
    H5Pset_chunk(list.get(), static_cast<int>(chunk.size()), chunk.data());
    if (layout == "packed") H5Pset_deflate(list.get(), 1);
    return list;
  }

  template <class Write>
  void write_values(const std::string& type, const Handle& space, Write write) {
    hsize_t dims[H5S_MAX_RANK] = {};
    const int rank = H5Sget_simple_extent_dims(space.get(), dims, nullptr);
    const double count = std::accumulate(dims, dims + rank, 1.0, std::multiplies<>());  // HDF5's own may overflow
    if (count > static_cast<double>(most_written)) return;
    const auto values = static_cast<std::size_t>(count);
    if (type == "text" || type == "texts") {
      const std::vector<const char*> texts(values, "ranks: 3");
      const std::vector<char> fixed(values * 8, 'x');
      write(type_of(type).get(), type == "texts" ? static_cast<const void*>(texts.data()) : fixed.data());
    } else if (type != "pair" && type != "bits") {
      std::vector<double> all(values);
      for (double& value : all) value = numbers[byte() % std::size(numbers)];
      write(H5T_NATIVE_DOUBLE, all.data());
    }
  }

  void add_set(const std::string& name) {
    const std::string &type = word(types), &layout = word(layouts);
    const auto size = dims();
    const Handle space = space_of(size), list = layout_of(layout, size), stored = type_of(type);
    const Handle set(H5Dcreate2(here(), name.c_str(), stored.get(), space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT),
                     H5Dclose);
    if (set.get() < 0 || layout == "outside") return;  // nothing is written but in the file itself
    write_values(type, space, [&](hid_t memory, const void* values) {
      H5Dwrite(set.get(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    });
  }

  void add_attribute(const std::string& name) {
    const std::string& type = word(types);
    auto size = dims();
    for (hsize_t& d : size) d = std::min<hsize_t>(d, 9);
    const Handle space = space_of(size), stored = type_of(type);
    const Handle attribute(H5Acreate2(here(), name.c_str(), stored.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose);
    if (attribute.get() < 0) return;
    write_values(type, space, [&](hid_t memory, const void* values) { H5Awrite(attribute.get(), memory, values); });
  }

  void add_virtual(const std::string& name) {
    const std::string& from = word(names);
    const hsize_t size = byte() % 10;
    const Handle space = space_of({size}), list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_virtual(list.get(), space.get(), byte() % 2 == 0 ? beside_.c_str() : ".", from.c_str(), space.get());
    const Handle set(
        H5Dcreate2(here(), name.c_str(), H5T_NATIVE_FLOAT, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT),
        H5Dclose);
  }

  const std::string beside_;
  const std::uint8_t *next_, *const end_;
  std::vector<Handle> groups_;  // the file first
};
}  // namespace

void cook_hdf5(const std::string& file, const std::string& beside, const std::uint8_t* recipe, std::size_t size) {
  const auto lock = hdf5::library_lock();
  const Cook cook(file, beside, recipe, size);
}

std::string recipe_of(const std::string& text) {
  std::string recipe;
  const auto add = [&](std::size_t byte) { recipe += static_cast<char>(byte); };
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    std::string step, word;
    if (!(in >> step)) continue;
    add(index_of(steps, step));
    if (step == "up") continue;
    in >> word;
    add(index_of(names, word));
    if (step == "group") continue;
    in >> word;
    if (step != "set" && step != "attribute") {
      add(index_of(names, word));
      if (step == "virtual") recipe += std::string("\3\0", 2);  // three values, of the other file
      continue;
    }
    add(index_of(types, word));
    if (step == "set") {
      in >> word;
      add(index_of(layouts, word));
    }
    std::vector<std::size_t> dims;
    std::size_t values = 1;
    for (std::size_t d = 0; in >> d; values *= d) dims.push_back(d);
    add(dims.size());
    for (const std::size_t d : dims) add(d);  // sizes begin with 0 to 9
    if (word != "text" && word != "texts") recipe += std::string(values, '\1');
  }
  return recipe;
}

}  // namespace cortado::fuzz
