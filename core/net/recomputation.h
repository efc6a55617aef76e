#pragma once
#include <memory>
#include <set>
#include <vector>

#include "core/net/layer_values.h"

namespace cortado {

/// Memory of the values that are made again. The values inside a segment share one piece of memory with those inside
/// the others: forward overwrites them segment by segment, and backward has each segment run forward again before it
/// enters it. Values that leave their segment have memory of their own.
///
///   layers       data | conv  bn  conv | bn  conv  bn  conv | loss
///   segments            0 0 0 0 0 0 0    1 1 1 1 1 1 1 1 1
///   shared memory       a    b               c    d    e          in forward first a b, then c d e; backward has
///                                                                 c d e, and makes a b again
class Recomputation {
 public:
  /// Borrows the layers. Segments are in order and do not overlap.
  Recomputation(CoreGroup& group, const std::vector<Net::Entry>& layers, const std::set<const Blob*>& seen,
                std::vector<Segment> segments);

  static constexpr std::size_t none = ~std::size_t{0};
  const std::vector<Segment>& segments() const { return segments_; }
  /// The segment that the layer is in, or none.
  std::size_t segment_of(std::size_t layer) const { return segment_of_[layer]; }
  /// The segment whose inner values are there.
  std::size_t held() const { return held_; }
  /// True if the layer makes values that are made again.
  bool runs_again(std::size_t layer) const { return runs_again_[layer]; }

  /// Afterwards the shared memory is the segment's, and holds nothing.
  void begin(std::size_t segment);
  /// Comes before the layer's forward: its tops, and what it keeps, get their memory.
  void place(std::size_t layer);
  /// Comes instead of a forward that would not make values again: blobs have the memory that it would leave them.
  void settle(std::size_t layer);

  /// Bytes of the values inside segments, and of the memory that they share.
  i64 inner_bytes() const;
  i64 shared_bytes() const;
  /// The number of values inside the segment.
  std::size_t values_of(std::size_t segment) const;

 private:
  bool is_inner(std::size_t value) const;
  Blob& blob_of(std::size_t value) const;
  std::shared_ptr<Storage> memory_of(std::size_t value);

  CoreGroup& group_;
  const std::vector<Net::Entry>& layers_;
  const LayerValues values_;
  const std::vector<Segment> segments_;
  std::vector<std::size_t> segment_of_;
  std::vector<bool> is_placed_;                   // by value
  std::vector<bool> runs_again_;                  // by layer
  std::vector<std::shared_ptr<Storage>> memory_;  // by value
  std::shared_ptr<Storage> shared_;
  i64 used_ = 0;    // floats of the shared memory
  i64 wanted_ = 0;  // floats that a segment wanted, where that was more than there were
  std::size_t held_ = none;
};

}  // namespace cortado
