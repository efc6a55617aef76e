#pragma once
#include "core/data/batch_source.h"

namespace cortado {

/// The readers of this folder, for data layers.
class Sources : public SourceOpener {
 public:
  std::unique_ptr<BatchSource> open_hdf5_list(const std::string& list_file,
                                              const std::vector<std::string>& fields) const override;
};

}  // namespace cortado
