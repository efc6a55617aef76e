#include "parallel_io/feed/sinks.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/base/file.h"
#include "parallel_io/sets/hdf5.h"

namespace cortado {
namespace {
using hdf5::Handle;
using hdf5::Quiet;
constexpr i64 sink_chunk_bytes = 256 << 10, most_in_sink_chunk = 4096;

/// The number of rows of a file, which must hold these arrays.
i64 rows_of(const std::string& file, const std::vector<SinkOpener::Array>& arrays) {
  const hdf5::File there(file);
  std::vector<i64> rows;
  for (const auto& wanted : arrays) {
    const hdf5::Array array(there, wanted.name);
    if (array.sample_shape() != wanted.row)
      throw FileError(file,
                      "is an earlier run's: samples of '" + wanted.name + "' have shape " +
                          to_string(array.sample_shape()) + " there, " + to_string(wanted.row) + " here",
                      "remove it, or give another name");
    rows.push_back(array.samples());
  }
  return *std::min_element(rows.begin(), rows.end());
}

/// A file that a sink of this process has open: two would overwrite each other's arrays.
class Claim {
 public:
  explicit Claim(const std::string& file) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) throw_system_error(file, "written");
    const auto lock = hdf5::library_lock();
    place_ = {status.st_dev, status.st_ino};
    if (!taken().insert(place_).second) throw FileError(file, "is another layer's", "give each its own file");
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() {
    const auto lock = hdf5::library_lock();
    taken().erase(place_);
  }

 private:
  using Place = std::pair<dev_t, ino_t>;
  static std::set<Place>& taken() {
    static std::set<Place> all;
    return all;
  }
  Place place_;
};

/// The names of the files that sinks of this process have begun.
std::set<std::string>& begun() {
  static std::set<std::string> all;
  return all;
}
std::string own_name(const std::string& file) {
  const auto names = names_of(file);
  return names.empty() ? file : names.front();
}
bool was_begun(const std::string& file) {
  const std::string name = own_name(file);
  const auto lock = hdf5::library_lock();
  return begun().count(name) > 0;
}
void remember(const std::string& file) {
  const std::string name = own_name(file);
  const auto lock = hdf5::library_lock();
  begun().insert(name);
}

class Hdf5Sink : public ArraySink {
 public:
  Hdf5Sink(const std::string& file, const std::vector<SinkOpener::Array>& arrays, i64 keep) : name_(file) {
    const bool goes_on = keep > 0 && is_taken(file);
    if (goes_on) {
      open_own(file);
      rows_ = std::min(keep, rows_of(file, arrays));
    }
    if (exists(file)) {
      const Claim claim(file);  // throws where another layer has it
      if (!goes_on && !was_begun(file) && hdf5::File::was_read(file))
        throw FileError(file, "is read by this run, which would replace it", "give the outputs another name");
    }
    const Quiet quiet;
    if (!goes_on) begin_anew(quiet);
    open_own(file);
    file_ = Handle(H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    check(file_.get() >= 0, quiet);
    claim_.emplace(file);
    remember(file);
    for (const auto& array : arrays) {
      columns_.push_back({dims_of(array.row), {}});
      Column& column = columns_.back();
      column.set = goes_on ? Handle(H5Dopen2(file_.get(), array.name.c_str(), H5P_DEFAULT), H5Dclose)
                           : make_set(array.name, column.dims);
      check(column.set.get() >= 0, quiet);
      resize(column, rows_, quiet);
    }
    hdf5::flush(file_.get(), name_);
  }

  void append(i64 rows, const std::vector<const float*>& values) override {
    const Quiet quiet;
    for (std::size_t i = 0; i < columns_.size() && rows > 0; ++i) {
      Column& column = columns_[i];
      resize(column, rows_ + rows, quiet);
      std::vector<hsize_t> start(column.dims.size(), 0), count(column.dims);
      start[0] = static_cast<hsize_t>(rows_);
      count[0] = static_cast<hsize_t>(rows);
      const Handle place(H5Dget_space(column.set.get()), H5Sclose),
          memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose);
      H5Sselect_hyperslab(place.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
      check(H5Dwrite(column.set.get(), H5T_NATIVE_FLOAT, memory.get(), place.get(), H5P_DEFAULT, values[i]) >= 0,
            quiet);
    }
    rows_ += rows;
    hdf5::flush(file_.get(), name_);
  }

 private:
  struct Column {
    std::vector<hsize_t> dims;  // rows first
    Handle set;
  };

  /// An empty file takes the name, so that neither it nor a link by its name leads to others' files.
  void begin_anew(const Quiet& quiet) const {
    NewFile made(name_);
    {
      const Handle file(H5Fcreate(made.path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, hdf5::access_to(made.path()).get()),
                        H5Fclose);
      check(file.get() >= 0, quiet);
      hdf5::flush(file.get(), name_);
    }
    made.replace();
  }

  static std::vector<hsize_t> dims_of(const Shape& row) {
    std::vector<hsize_t> dims(row.begin(), row.end());
    dims.insert(dims.begin(), 0);
    return dims;
  }

  /// Without rows, and with room for any number.
  Handle make_set(const std::string& name, const std::vector<hsize_t>& dims) const {
    std::vector<hsize_t> most(dims), chunk(dims);
    most[0] = H5S_UNLIMITED;
    const i64 row_bytes = 4 * count_of({dims.begin() + 1, dims.end()});
    chunk[0] =
        static_cast<hsize_t>(std::clamp<i64>(sink_chunk_bytes / std::max<i64>(1, row_bytes), 1, most_in_sink_chunk));
    const Handle space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), most.data()), H5Sclose),
        list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(list.get(), static_cast<int>(chunk.size()), chunk.data());
    return {H5Dcreate2(file_.get(), name.c_str(), H5T_IEEE_F32LE, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT),
            H5Dclose};
  }

  void resize(Column& column, i64 rows, const Quiet& quiet) const {
    column.dims[0] = static_cast<hsize_t>(rows);
    check(H5Dset_extent(column.set.get(), column.dims.data()) >= 0, quiet);
  }
  void check(bool good, const Quiet& quiet) const {
    if (!good)
      throw FileError(name_, "cannot be written: " + quiet.reason(), "check its folder, permissions and free space");
  }

  const std::string name_;
  Handle file_;
  std::optional<Claim> claim_;
  std::vector<Column> columns_;
  i64 rows_ = 0;
};

}  // namespace

std::unique_ptr<ArraySink> Sinks::open(const std::string& file, const std::vector<Array>& arrays, i64 keep) const {
  return std::make_unique<Hdf5Sink>(file, arrays, keep);
}

}  // namespace cortado
