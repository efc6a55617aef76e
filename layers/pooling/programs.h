#pragma once
#include "core/machine/elementwise.h"
#include "layers/pooling/plane_programs.h"
#include "layers/pooling/row_programs.h"
#include "layers/pooling/whole_plane_programs.h"
#include "layers/pooling/window_programs.h"

namespace cortado {

/// The mask as Caffe hands it out in a second top.
struct MaskToTop {
  static constexpr const char* label = "max_pool_mask";
  template <class V>
  CORTADO_FN float operator()(V index) const {
    return static_cast<float>(index);
  }
};

}  // namespace cortado
