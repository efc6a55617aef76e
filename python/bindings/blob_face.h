#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/net/net.h"
#include "python/bindings/arrays.h"

namespace cortado::python {

/// The blobs of one net, or of one Python layer, as Python has them.
struct BlobHouse {
  Arrays arrays;
  bool is_open = true;  ///< the blobs are still there
};

/// A blob as Python sees it. Python may keep it longer than its net: then it throws.
class BlobFace {
 public:
  /// `keep` is what the blob lives in. `learner` is the net whose parameter it is: its gradient lies with the others;
  /// nullptr means that it is none.
  BlobFace(Blob& blob, std::shared_ptr<BlobHouse> house, std::shared_ptr<void> keep, bool is_moved,
           Net* learner = nullptr)
      : blob_(&blob), house_(std::move(house)), keep_(std::move(keep)), is_moved_(is_moved), learner_(learner) {}

  py::array array(Part which) const {
    Blob& values = blob();
    if (which == Part::diff && learner_ != nullptr) learner_->gradient_arena();
    return house_->arrays.of(values, which, is_moved_);
  }
  Blob& blob() const {
    if (!house_->is_open) throw ConfigError("blob", "its net is gone", "keep the net, or copy the array");
    return *blob_;
  }
  /// The size of a dimension of Caffe's legacy shape: num, channels, height, width.
  i64 legacy(int axis) const { return blob().legacy(axis); }

 private:
  Blob* blob_;
  std::shared_ptr<BlobHouse> house_;
  std::shared_ptr<void> keep_;
  bool is_moved_;
  Net* learner_;
};

/// The shape that Python gives as numbers, or as one sequence of them. Throws TypeError of Python.
Shape shape_of(const py::args& dimensions);

void bind_blobs(py::module_& module);

}  // namespace cortado::python
