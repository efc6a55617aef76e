#pragma once
#include "core/formats/weight_files.h"

namespace cortado {

/// Caffe's files .caffemodel.h5 and .solverstate.h5.
///
///   .caffemodel.h5    data/LAYER/0, 1, ...   blobs as data sets of floats
///                     diff/LAYER/0, 1, ...   gradients
///   .solverstate.h5   iter, current_step     numbers
///                     learned_net            text
///                     history/0, 1, ...      a data set for each blob
///                     cortado                Cortado's state, a text protobuf
///                     cortado_statistics/    ranks' running statistics where they differ, a data set for each
///                     cortado_averaged_statistics/   those of the average of weights
///
/// A blob that several layers share stands with its owner only. Layers without blobs are empty groups. A name with
/// slashes, "a/b", is group b in group a. Caffe ignores entries with "cortado" in their names.
class Hdf5Weights : public Hdf5Files {
 public:
  void read_weights(const std::string& file, caffe::NetParameter& weights) const override;
  void write_weights(const std::string& file, const caffe::NetParameter& weights) const override;
  void read_state(const std::string& file, caffe::SolverState& state) const override;
  void write_state(const std::string& file, const caffe::SolverState& state) const override;
};

}  // namespace cortado
