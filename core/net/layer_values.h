#pragma once
#include <optional>
#include <set>
#include <vector>

#include "core/net/net.h"

namespace cortado {

/// The arrays between the layers of a net: which layer makes each, and which reads it last. A split's tops are the
/// array of its bottom. A layer that works in place changes an array, or moves its top to another one
/// (Layer::kept_bottom):
///
///   layer    conv --x--> bn (in place) --x--> relu (in place) --x--> ip
///   array         0                     1 ................ 1            bn makes 1 and keeps 0; relu changes 1
struct LayerValues {
  /// Someone outside the net looks at the blobs `seen`, as at losses.
  LayerValues(const std::vector<Net::Entry>& layers, const std::set<const Blob*>& seen);

  struct Value {
    std::size_t layer;  ///< makes it; layers as the net numbers them
    Blob* blob;         ///< through which layers reach it; a moved top's blob reaches several, one after the other
    bool is_moved;      ///< the layer works in place, and has moved its top
    std::size_t last;   ///< layer that reads it last; the number of layers: it is seen from outside
  };
  std::vector<Value> values;

  struct Use {
    std::vector<std::size_t> makes, changes;  ///< values; changes: in place
    std::optional<std::size_t> kept;          ///< the value that the layer keeps as it moves its top
    bool keeps_shared = false;                ///< that value came through a split
    /// Layers [first, last] run again whenever this one does. Else it would not find the values that it found.
    std::size_t first, last;
  };
  std::vector<Use> uses;  ///< by layer; of layers that another does the work of, nothing

  /// True if nobody but layers of the segment needs the value.
  bool is_inside(const Value& value, const Segment& segment) const {
    return segment.first <= value.layer && value.last < segment.end;
  }
};

/// Why the layer cannot run again; empty: it can.
std::string why_not_recomputed(const Net::Entry& entry);

}  // namespace cortado
