#pragma once
#include <string>

namespace caffe {
class NetParameter;
class SolverState;
}  // namespace caffe

namespace cortado {

/// Weights and solver states in HDF5, laid out as Caffe does. Core knows nothing of HDF5: parallel_io implements this,
/// app wires it. All functions throw FileError; writing goes to a file beside `file` that is then renamed.
class Hdf5Files {
 public:
  virtual ~Hdf5Files() = default;
  /// Names and blobs of layers. A blob whose values the file leaves out, because another layer that shares them holds
  /// them, has none here, or is missing at the end.
  virtual void read_weights(const std::string& file, caffe::NetParameter& weights) const = 0;
  /// Of every blob, its values and its gradients where it holds them.
  virtual void write_weights(const std::string& file, const caffe::NetParameter& weights) const = 0;
  virtual void read_state(const std::string& file, caffe::SolverState& state) const = 0;
  virtual void write_state(const std::string& file, const caffe::SolverState& state) const = 0;
};

/// Whether a file is HDF5: by its name, X.h5, as in Caffe, or by its content. False for an absent file of another name.
bool is_hdf5(const std::string& file);

/// Weights from a .caffemodel, text or binary, upgraded, or from a .caffemodel.h5. Throws FileError, ConfigError; so
/// for HDF5 where `hdf5` is null.
void read_weights(const std::string& file, const Hdf5Files* hdf5, caffe::NetParameter& weights);
/// A state from a .solverstate or a .solverstate.h5; likewise.
void read_state(const std::string& file, const Hdf5Files* hdf5, caffe::SolverState& state);

/// `hdf5`, if it is there; otherwise throws ConfigError saying that `file` cannot be read or written.
const Hdf5Files& require_hdf5(const Hdf5Files* hdf5, const std::string& file);

}  // namespace cortado
