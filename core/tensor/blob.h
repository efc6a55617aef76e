#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bf16.h"
#include "core/base/error.h"
#include "core/base/layout.h"
#include "core/machine/core_group.h"

namespace cortado {

/// Dimensions, outermost first; images are N x C x H x W (Caffe's order). An empty shape is a scalar.
using Shape = std::vector<i64>;

/// The number of elements. Throws ShapeError where they are beyond counting.
i64 count_of(const Shape& shape);
/// The number of elements of a shape that a file claims. Returns nothing where the shape means nothing: a dimension is
/// negative, or the elements are beyond counting.
std::optional<i64> counted(const Shape& shape);
/// "64 3 32 32 (196608)", as Caffe prints it.
std::string to_string(const Shape& shape);

/// A piece of cluster memory that several blobs may hold. It is owned, or it is a range of an arena that `owner` keeps
/// alive. Sizes count floats.
struct Storage {
  float* data = nullptr;
  i64 count = 0;
  std::shared_ptr<void> owner;
  bool awaits_zeros = false;  ///< the memory counts as zeros, which nobody has written yet (Blob::clear_diff)

  static std::shared_ptr<Storage> make(CoreGroup& group, i64 count);
  /// A piece of host memory, for copies to or from the group (CoreGroup::allocate_staging).
  static std::shared_ptr<Storage> make_staging(CoreGroup& group, i64 count);
  static std::shared_ptr<Storage> range(const std::shared_ptr<Storage>& arena, i64 first, i64 count);
};

/// Values and their gradient in cluster memory, both float or both bf16. They are dense and row-major, but images may
/// lie in blocks of channels (Layout::nchw16c). The first use allocates memory, filled with zeros. Reshaping keeps
/// memory that is large enough.
class Blob {
 public:
  explicit Blob(CoreGroup& group) : group_(&group) {}
  Blob(CoreGroup& group, const Shape& shape) : group_(&group) { reshape(shape); }

  CoreGroup& group() const { return *group_; }
  const Shape& shape() const { return shape_; }
  i64 count() const { return count_; }
  int axes() const { return static_cast<int>(shape_.size()); }
  /// The product of dimensions [from, to); `to` defaults to the end.
  i64 count(int from, int to) const;
  i64 count(int from) const { return count(from, axes()); }
  /// The size of dimension `axis`; negative axes count from the end. Throws ShapeError outside [-axes, axes).
  i64 dim(int axis) const { return shape_[static_cast<std::size_t>(canonical_axis(axis))]; }
  /// `axis` as an index from the front. Throws ShapeError outside [-axes, axes).
  int canonical_axis(int axis) const;
  /// The size of one axis of a blob seen as N x C x H x W, Caffe's legacy shape; 1 where the blob lacks it. Throws
  /// ShapeError for a blob of more than four axes.
  i64 legacy(int axis) const;

  void reshape(const Shape& shape) { reshape(shape, precision_); }
  /// Blobs are nchw, or nchw16c where they have four axes and sixteen divides the channels. Images of one pixel are the
  /// same in both layouts; their layout is nchw. Throws ShapeError for a negative dimension.
  void reshape(const Shape& shape, Precision precision, Layout layout = Layout::nchw);
  /// Takes shape, precision and layout of `other`.
  void reshape_like(const Blob& other) { reshape(other.shape(), other.precision(), other.layout()); }
  Precision precision() const { return precision_; }
  Layout layout() const { return layout_; }
  /// The bytes of the values alone; the gradient has as many.
  i64 bytes() const { return count_ * bytes_of(precision_); }
  /// The floats of Storage that the values take; the gradient takes as many.
  i64 storage() const { return (bytes() + 3) / 4; }

  /// Cluster pointers, for programs and for the matrix library; host code reads through read_data. T is the type that
  /// the blob holds.
  const float* data() const { return data<float>(); }
  float* mutable_data() { return mutable_data<float>(); }
  const float* diff() const { return diff<float>(); }
  float* mutable_diff() { return mutable_diff<float>(); }
  template <class T>
  const T* data() const {
    return typed<T>(data_);
  }
  template <class T>
  T* mutable_data() {
    return typed<T>(data_);
  }
  template <class T>
  const T* diff() const {
    return typed<T>(diff_);
  }
  template <class T>
  T* mutable_diff() {
    return typed<T>(diff_);
  }
  bool has_data() const { return data_ != nullptr; }
  bool has_diff() const { return diff_ != nullptr; }

  /// Afterwards this blob's values (gradients) are the other's memory. Both need equal sizes.
  void share_data(const Blob& other);
  void share_diff(const Blob& other);
  bool shares_data(const Blob& other) const { return data_ && data_ == other.data_; }
  /// Exchanges the memory of both blobs' values, which have equal counts.
  void swap_data(Blob& other) { data_.swap(other.data_); }
  /// Afterwards values (gradients) lie in `place`, which holds at least storage() floats; old values are lost.
  void place_data(std::shared_ptr<Storage> place) { data_ = std::move(place); }
  void place_diff(std::shared_ptr<Storage> place) { diff_ = std::move(place); }

  /// Read and write count() floats, row-major, in host memory, whatever the precision and the layout. They wait for the
  /// cluster.
  void read_data(float* host) const;
  void read_diff(float* host) const;
  void write_data(const float* host);
  void write_diff(const float* host);
  std::vector<float> data_vector() const;
  std::vector<float> diff_vector() const;
  void zero_diff();
  /// Afterwards the gradient counts as zeros. The next access writes them. Only sum_diff does not, whose caller sets
  /// the gradient: then memory is passed over once instead of three times.
  void clear_diff();
  /// A gradient of floats that its user adds to or sets.
  struct Sum {
    float* to;
    bool sets;  ///< the memory holds nothing yet: the caller sets all of it, in this call
  };
  /// The gradient, for a layer that can add to it and set it.
  Sum sum_diff();

 private:
  std::shared_ptr<Storage>& made(std::shared_ptr<Storage>& place) const;
  std::shared_ptr<Storage>& ensure(std::shared_ptr<Storage>& place) const;
  template <class T>
  T* typed(std::shared_ptr<Storage>& place) const {
    require(std::is_same<T, bf16>::value == (precision_ == Precision::bf16), "a blob is read as what it holds");
    return reinterpret_cast<T*>(ensure(place)->data);
  }
  bool is_floats() const { return precision_ == Precision::fp32 && layout_ == Layout::nchw; }
  void read(std::shared_ptr<Storage>& place, float* host) const;
  void write(std::shared_ptr<Storage>& place, const float* host);

  CoreGroup* group_;
  Shape shape_;
  Precision precision_ = Precision::fp32;
  Layout layout_ = Layout::nchw;
  i64 count_ = 0;
  mutable std::shared_ptr<Storage> data_, diff_;  // allocated on first use, which may be a read
};

}  // namespace cortado
