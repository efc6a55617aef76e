#pragma once
#include <string>

namespace caffe {
class NetParameter;
class SolverState;
}  // namespace caffe

namespace cortado {

/// Weights and solver states in HDF5, in Caffe's layout. parallel_io implements it, app wires it, and core does not
/// know HDF5. All functions throw FileError. Writing goes to a file beside `file` that is then renamed.
class Hdf5Files {
 public:
  virtual ~Hdf5Files() = default;
  /// Reads names and blobs of layers. The file may leave out a blob's values because another layer that shares them
  /// holds them. Such a blob is empty here, or missing at the end.
  virtual void read_weights(const std::string& file, caffe::NetParameter& weights) const = 0;
  /// Writes every blob's values, and its gradients where the message holds them.
  virtual void write_weights(const std::string& file, const caffe::NetParameter& weights) const = 0;
  virtual void read_state(const std::string& file, caffe::SolverState& state) const = 0;
  virtual void write_state(const std::string& file, const caffe::SolverState& state) const = 0;
};

/// True if a file is HDF5 by its name, X.h5, as in Caffe, or by its content. False for an absent file of another name.
bool is_hdf5(const std::string& file);

/// Reads weights from a .caffemodel, text or binary, upgraded, or from a .caffemodel.h5. Throws FileError, ConfigError;
/// nullptr for `hdf5` means that HDF5 files throw too.
void read_weights(const std::string& file, const Hdf5Files* hdf5, caffe::NetParameter& weights);
/// Reads a state from a .solverstate or a .solverstate.h5; `hdf5` and errors as in read_weights.
void read_state(const std::string& file, const Hdf5Files* hdf5, caffe::SolverState& state);

/// Returns `*hdf5`. Throws ConfigError saying that `file` cannot be read or written if `hdf5` is nullptr.
const Hdf5Files& require_hdf5(const Hdf5Files* hdf5, const std::string& file);

}  // namespace cortado
