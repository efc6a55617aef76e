#pragma once
#include "core/formats/weight_files.h"

namespace cortado {

/// Caffe's files .caffemodel.h5 and .solverstate.h5.
///
/// Weights: group `data` with a group per layer, of the layer's name, with a data set of floats per blob, "0", "1",
/// ...; gradients likewise in group `diff`. A blob that several layers share stands with its owner only. Layers without
/// blobs are empty groups. A name with slashes, "a/b", is group b in group a.
///
/// State: data sets `iter`, `current_step` (numbers), `learned_net` (text), and group `history` with a data set per
/// blob. Cortado's own state is one more data set, `cortado`, a text protobuf, and group `cortado_statistics` with a
/// data set per rank where their running statistics differ; Caffe looks at neither.
class Hdf5Weights : public Hdf5Files {
 public:
  void read_weights(const std::string& file, caffe::NetParameter& weights) const override;
  void write_weights(const std::string& file, const caffe::NetParameter& weights) const override;
  void read_state(const std::string& file, caffe::SolverState& state) const override;
  void write_state(const std::string& file, const caffe::SolverState& state) const override;
};

}  // namespace cortado
