#pragma once
#include "core/data/array_sink.h"

namespace cortado {

/// Growing arrays in HDF5: data sets of floats in chunks, whose first axis has no end. HDF5Data and any HDF5 tool read
/// them. Every append brings the file up to date.
class Sinks : public SinkOpener {
 public:
  std::unique_ptr<ArraySink> open(const std::string& file, const std::vector<Array>& arrays, i64 keep) const override;
};

}  // namespace cortado
