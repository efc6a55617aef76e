#include "core/formats/weight_files.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/files.h"
#include "core/formats/prototxt.h"

namespace cortado {

bool is_hdf5(const std::string& file) {
  const std::string extension = ".h5", signature = "\x89HDF\r\n\x1a\n";
  if (file.size() > extension.size() && file.compare(file.size() - extension.size(), extension.size(), extension) == 0)
    return true;
  return exists(file) && first_bytes(file, static_cast<i64>(signature.size())) == signature;
}

const Hdf5Files& require_hdf5(const Hdf5Files* hdf5, const std::string& file) {
  if (hdf5 == nullptr) throw ConfigError(file, "is HDF5, which this program does not know", "use binary protobuf");
  return *hdf5;
}

namespace {
void read_weights_as_named(const std::string& file, const Hdf5Files* hdf5, caffe::NetParameter& weights) {
  if (is_hdf5(file))
    require_hdf5(hdf5, file).read_weights(file, weights);
  else
    read_net(file, weights);
}

void read_state_as_named(const std::string& file, const Hdf5Files* hdf5, caffe::SolverState& state) {
  if (is_hdf5(file))
    require_hdf5(hdf5, file).read_state(file, state);
  else
    read_binary(file, state);
}

template <class Read>
bool succeeds(Read read) {
  try {
    return read();
  } catch (const Error&) { return false; }
}
}  // namespace

void read_weights(const std::string& file, const Hdf5Files* hdf5, caffe::NetParameter& weights) {
  try {
    read_weights_as_named(file, hdf5, weights);
    const auto has_blobs = [](const caffe::LayerParameter& layer) { return layer.blobs_size() > 0; };
    if (is_hdf5(file) || !looks_like_text(file) ||
        std::any_of(weights.layer().begin(), weights.layer().end(), has_blobs))
      return;
  } catch (const Error&) {
    const bool is_state = succeeds([&] {
      caffe::SolverState state;
      read_state_as_named(file, hdf5, state);
      return state.has_iter();
    });
    if (!is_state) throw;
    throw FileError(file, "is a solver's state and holds no weights",
                    "give the .caffemodel of that name, or go on from it with -snapshot " + file);
  }
  throw FileError(file, "is a net and holds no weights", "give a .caffemodel");
}

void read_state(const std::string& file, const Hdf5Files* hdf5, caffe::SolverState& state) {
  try {
    read_state_as_named(file, hdf5, state);
  } catch (const Error&) {
    const bool is_weights = succeeds([&] {
      caffe::NetParameter weights;
      read_weights_as_named(file, hdf5, weights);
      return weights.layer_size() > 0;
    });
    if (!is_weights) throw;
    throw FileError(file, "holds weights and no solver's state",
                    "give the .solverstate of that name, or start from the weights with -weights " + file);
  }
}

}  // namespace cortado
