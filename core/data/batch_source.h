#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/data/sample_order.h"
#include "core/tensor/blob.h"

namespace caffe {
class TransformationParameter;
}

namespace cortado {

/// One batch in memory that copies fast (CoreGroup::allocate_staging): batch x sample floats for each field.
struct Batch {
  i64 first = 0;              ///< its first position in the sample order
  std::vector<Shape> shapes;  ///< a sample's shape, by field
  std::vector<std::shared_ptr<Storage>> fields;
};

/// Batches of labelled samples, read ahead. Data layers read from it; parallel_io implements it. One thread uses a
/// source.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// A sample's shape, by field, after transformation. In batches of one, samples may have other shapes.
  virtual const std::vector<Shape>& sample_shapes() const = 0;
  virtual i64 samples() const = 0;

  /// Returns the batch at positions [first, first + batch) of the sample order, and waits until it is read. The source
  /// reads ahead at first + stride, first + 2 stride, and so on; another order only costs time. The batch stays until
  /// its pointer is dropped; a caller holds at most two. Throws FileError.
  virtual std::shared_ptr<const Batch> take(i64 first, i64 stride) = 0;
  /// Returns the batch that the source expects to be taken next (see its `first`). nullptr means that it is not read
  /// yet.
  virtual std::shared_ptr<const Batch> take_if_ready() = 0;

  /// Counts since the source was opened. `stalled`: seconds that `take` waited, but for its first batch. `ready`: mean
  /// number of batches that lay ready when one was taken.
  struct Statistics {
    i64 batches = 0, bytes = 0;
    double stalled = 0, reading = 0, preparing = 0, ready = 0;
    int depth = 0;
  };
  virtual Statistics statistics() const = 0;
};

/// A data layer's request to a SourceOpener.
struct BatchRequest {
  enum class Kind {
    set,      ///< a data set of any format, told by what is found at `source`: fields data, label
    hdf5,     ///< an HDF5 file, or a text that lists some (Caffe's HDF5Data): `fields` name the arrays
    images,   ///< a text that lists images and labels (Caffe's ImageData): fields data, label
    windows,  ///< a text that lists images and windows in them (Caffe's WindowData): fields data, label
  };
  Kind kind = Kind::set;
  std::string source;
  std::vector<std::string> fields;
  std::vector<std::string> tops;  ///< names of the layer's tops, a field each
  i64 batch = 1;
  SampleOrder::Kind order = SampleOrder::Kind::sequential;
  i64 block = 0;  ///< samples of SampleOrder's blocks; 0 means as many as a batch
  std::uint64_t seed = 1;
  i64 skip = 0;         ///< positions left out at the beginning
  i64 prefetch = 4;     ///< batches read ahead
  bool verify = false;  ///< compare every sample with its checksum; a source without them is refused
  /// nullptr means no transformation. Random crops and mirrors depend on seed and position alone.
  const caffe::TransformationParameter* transform = nullptr;
  bool training = true;
  struct Images {
    std::string root;           ///< before every name of a list
    int height = 0, width = 0;  ///< resize; 0 means leave
    bool grey = false;
    bool antialias = false;  ///< resize by the mean of what a pixel covers
  } images;
  /// A window is foreground if its overlap is at least `foreground`, background if it is below `background`. Of `batch`
  /// neighbouring positions the last floor(batch fraction) are foreground. parallel_io/sets/window_set.h says which
  /// ones.
  struct Windows {
    float foreground = 0.5f, background = 0.5f, fraction = 0.25f;
    i64 batch = 1;
    int context = 0;      ///< pixels of the crop around the window
    bool square = false;  ///< the window is made square first
    bool cache = false;   ///< keep all files in memory
  } windows;
};

/// Opens sources. app wires parallel_io's opener into it, so core and layers do not know the formats.
class SourceOpener {
 public:
  virtual ~SourceOpener() = default;
  /// Opens a source whose batches lie in staging memory of `group`. Throws FileError, ConfigError.
  virtual std::unique_ptr<BatchSource> open(const BatchRequest& request, CoreGroup& group) const = 0;
};

}  // namespace cortado
