#pragma once
#include "parallel_io/sets/data_set.h"
#include "parallel_io/sets/hdf5.h"
#include "parallel_io/sets/raw_file.h"

namespace cortado {

/// Samples of HDF5 files, which are
/// - one plain file;
/// - several one after another, in a list (Caffe's HDF5Data source). It has a path per line, from the working directory
/// or,
///   if the file is not there, from the list's own folder;
/// - a striped set (StripedLayout), by its master.
/// Arrays of all files must have equal sample shapes, unless OpenOptions::any_shape allows others.
///
/// Contiguous arrays of bytes and of floats are read at their offsets in the files, without the HDF5 library. Any
/// number of threads may read them at once. Other arrays (chunked, compressed, other types) are read through the
/// library, as float. A set with such arrays of up to `cache_bytes` is read once and kept. A larger one keeps as many
/// bytes of chunks.
class Hdf5Set : public DataSet {
 public:
  Hdf5Set(const std::string& path, const OpenOptions& options);

  void read(const i64* indices, i64 count, std::vector<Values>& to) const override;
  std::string where(i64 sample) const override;
  void add_known(Digest& digest) const override;
  i64 stripes() const { return static_cast<i64>(files_.size()); }
  i64 block() const { return block_; }  ///< samples that lie together in one file

 private:
  /// One file's part of a field.
  struct Column {
    hdf5::Array values;
    i64 offset = -1;                  // values' offset, if they can be read without the library
    i64 places = -1, checksums = -1;  // offsets of FIELD_place and FIELD_crc
  };
  struct OneFile {
    RawFile raw;
    hdf5::File hdf5;
    std::vector<Column> columns;  // per field
    i64 samples = 0;
  };
  /// Neighbouring samples in one file.
  struct Piece {
    i64 first, count;
    std::size_t file;
    i64 place;
  };
  /// A wanted sample: its place, and its number among the wanted.
  struct Wanted {
    i64 sample, place;
    std::size_t file;
    i64 slot;
  };

  void open_list(const std::string& path, const OpenOptions& options);
  void open_striped(const std::string& path, const hdf5::File& master, const OpenOptions& options);
  void add_file(const std::string& name, const std::vector<std::string>& wanted);
  Column open_column(const hdf5::File& file, const RawFile& raw, const std::string& name) const;
  void settle_fields(const std::vector<std::string>& wanted);
  void fill_cache(i64 cache_bytes);

  std::vector<Wanted> places_of(const i64* indices, i64 count) const;
  void read_fixed(std::size_t field, const std::vector<Wanted>& wanted, std::uint8_t* to) const;
  void read_any_shape(std::size_t field, const std::vector<Wanted>& wanted, Values& to) const;
  void read_encoded(std::size_t field, const std::vector<Wanted>& wanted, Values& to) const;
  void verify(std::size_t field, const std::vector<Wanted>& wanted, const Values& values) const;
  /// Calls read(file, [first, last)) for each run of `wanted` in one file.
  template <class Read>
  void by_file(const std::vector<Wanted>& wanted, Read read) const;
  /// True if the sample differs from the one before it: an index may occur twice.
  static bool is_new(const std::vector<Wanted>& wanted, std::size_t i);
  void read_by_library(const Column& column, const std::vector<Wanted>& wanted, std::size_t first, std::size_t last,
                       float* to) const;
  bool is_raw(std::size_t field, std::size_t file) const;

  std::string path_;
  i64 block_ = 0;
  bool verify_ = false, any_shape_ = false;
  bool has_shapes_ = false;  // files have samples of other shapes than the first one's
  i64 most_cached_ = 0;      // of one array's chunks
  std::vector<OneFile> files_;
  std::vector<Piece> pieces_;
  std::vector<std::vector<float>> cache_;  // [field]; empty means read from files
};

}  // namespace cortado
