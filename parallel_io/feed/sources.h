#pragma once
#include "core/data/batch_source.h"

namespace cortado {

/// The readers of this folder, for data layers.
class Sources : public SourceOpener {
 public:
  std::unique_ptr<BatchSource> open(const BatchRequest& request, CoreGroup& group) const override;
};

}  // namespace cortado
