#pragma once
#include <array>

#include "core/data/batch_source.h"
#include "parallel_io/sets/data_set.h"

namespace cortado {

/// Caffe's window files (R-CNN): images, each with windows that overlap objects of a class more or less. Each image has
///   # NUMBER
///   PATH
///   CHANNELS
///   HEIGHT
///   WIDTH
///   WINDOWS
///   CLASS OVERLAP X1 Y1 X2 Y2      (once for each of its windows; both corners belong to the window)
///
/// The set has no end: sample p is the one drawn at position p. Batches have background windows first, then foreground.
/// The k-th background window of a run depends on seed and k alone, and so does the k-th foreground window. So global
/// batches hold the same windows however ranks divide them, if each rank's share of foreground windows is whole.
class WindowSet : public DataSet {
 public:
  /// Throws FileError with the line of a mistake in the list; ConfigError where it lacks windows of a kind that batches
  /// need.
  explicit WindowSet(const BatchRequest& request);

  struct Window {
    std::size_t image;
    int label;
    int x1, y1, x2, y2;
  };
  struct Draw {
    Window window;
    bool coin;  ///< heads or tails, for mirrors
  };
  Draw draw(i64 position) const;

  void read(const i64* indices, i64 count, std::vector<Values>& to) const override;
  std::string where(i64 sample) const override;
  void add_known(Digest& digest) const override;
  /// The number of channels of all images, 1 or 3.
  i64 channels() const { return fields_[0].sample_shape[0]; }

 private:
  void read_list(const BatchRequest& request);

  const i64 batch_, foreground_;  // windows of a batch
  const std::uint64_t key_;
  std::vector<std::string> images_;
  std::vector<std::vector<std::uint8_t>> files_;  // the images' files, if they are kept
  std::array<std::vector<Window>, 2> windows_;    // background, foreground
};

}  // namespace cortado
