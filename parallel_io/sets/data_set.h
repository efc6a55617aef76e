#pragma once
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/digest.h"
#include "core/tensor/blob.h"

namespace cortado {

/// The stored form of a field: numbers in one shape for all samples, or JPEG and PNG files of any size.
enum class Stored { float32, uint8, encoded };

/// Allocates memory for a vector that begins on a page and is not cleared. Copying from the page cache is slower by a
/// tenth where source and destination lie a few bytes apart within their pages.
template <class T>
struct PageAllocator {
  using value_type = T;
  PageAllocator() = default;
  template <class U>
  PageAllocator(const PageAllocator<U>& /*other*/) {}
  static constexpr std::size_t page = 4096;
  T* allocate(std::size_t n) {
    void* const memory = std::aligned_alloc(page, (n * sizeof(T) + page - 1) / page * page);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t /*n*/) { std::free(memory); }
  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Args>
  void construct(U* place, Args&&... args) {
    ::new (static_cast<void*>(place)) U(std::forward<Args>(args)...);
  }
  friend bool operator==(const PageAllocator&, const PageAllocator&) { return true; }
  friend bool operator!=(const PageAllocator&, const PageAllocator&) { return false; }
};
using Bytes = std::vector<std::uint8_t, PageAllocator<std::uint8_t>>;

/// The values of one field for some samples in stored form, sample after sample. Encoded fields, and samples with
/// shapes of their own, have `begin`: sample i is bytes[begin[i]] to bytes[begin[i + 1]]. For others `begin` is empty.
struct Values {
  Bytes bytes;
  std::vector<i64> begin;
  std::vector<Shape> shapes;  ///< the samples', if they have their own (OpenOptions::any_shape)
};

/// Samples of labelled data on storage, in any format that this folder reads. Three-channel images are blue, green,
/// red, channel by channel, as in Caffe.
class DataSet {
 public:
  virtual ~DataSet() = default;
  struct Field {
    std::string name;
    /// Encoded images have the first one's shape here, channels x height x width. Others may differ in height and
    /// width, and are decoded to the same number of channels.
    Shape sample_shape;
    Stored stored = Stored::float32;
    i64 sample_bytes() const { return count_of(sample_shape) * (stored == Stored::float32 ? 4 : 1); }
  };
  const std::vector<Field>& fields() const { return fields_; }
  i64 samples() const { return samples_; }
  /// Names of the classes, where the format keeps them.
  const std::vector<std::string>& classes() const { return classes_; }

  /// Reads any samples, in any order, all fields. Any number of threads may read. Throws FileError with file and
  /// sample.
  virtual void read(const i64* indices, i64 count, std::vector<Values>& to) const = 0;
  /// Adds what is known of all samples without reading each: labels, names. No paths, which differ from node to node.
  virtual void add_known(Digest& /*digest*/) const {}
  /// "FILE, sample 7", for messages.
  virtual std::string where(i64 sample) const = 0;

 protected:
  std::vector<Field> fields_;
  i64 samples_ = 0;
  std::vector<std::string> classes_;
};

/// Options for files that can be read in several ways.
struct OpenOptions {
  std::vector<std::string> fields = {"data", "label"};  ///< arrays of HDF5 files
  bool verify = false;               ///< compare samples with their checksums (striped sets and what `convert` writes)
  std::string root;                  ///< before the names of an image list
  int channels = 0;                  ///< of encoded images: 1 (grey), 3, or 0: as many as the first one has
  std::vector<std::string> classes;  ///< of a folder of images, in order of their labels; empty means its own
  bool any_label = false;            ///< an image list may give several labels, or images as labels
  bool any_shape = false;            ///< numbers, too, may have another shape than the first sample's
  i64 cache_bytes = i64{1} << 28;    ///< HDF5 files that cannot be read at an offset are kept if they are no larger
};

/// A label as data sets have it, a float. Throws FileError at `where()` for those that a float would round, beyond
/// 2^24.
float exact_label(i64 label, const std::function<std::string()>& where);

/// Opens the data set at `path`, recognised by its content:
/// - an HDF5 file, plain or the master of a striped set;
/// - an LMDB folder of Caffe's Datum;
/// - an IDX file of images (its labels beside it);
/// - a CIFAR file or a folder of them;
/// - a folder of images, one folder per class;
/// - a text that lists HDF5 files, or images with labels.
/// Throws FileError for files that are absent, unfinished, broken or none of these.
std::unique_ptr<DataSet> open_set(const std::string& path, const OpenOptions& options = {});

}  // namespace cortado
