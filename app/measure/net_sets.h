#pragma once
#include <string>
#include <vector>

#include "core/formats/caffe.pb.h"
#include "core/net/net.h"

namespace cortado {

/// Reads the training net of a set: models/NAME/train_val.prototxt below the current folder, or a prototxt by its path.
/// Its data layers (DummyData, Input) get `batch` images, if that is not 0. They get constant data, so that no numbers
/// are drawn while it is timed. Throws FileError, and ConfigError for data layers that read files.
void read_set(const std::string& set, i64 batch, caffe::NetParameter& net);

/// Drops the layers behind the last one of a type, with the parameters of large classifiers among them. Throws
/// ConfigError naming `set` where there is none of the type.
void cut_behind_last(const std::string& type, const std::string& set, caffe::NetParameter& net);

/// Makes parameters start as zeros: drawing millions of numbers takes longer than shaping a net.
void start_with_zeros(caffe::NetParameter& net);

/// A layer of a set, with the shape of its first bottom.
struct SetLayer {
  std::string set, name;
  Shape bottom;
  caffe::LayerParameter parameter;
};

/// The layers of a type in the sets, in order. Layers that do the same to the same shape appear once.
std::vector<SetLayer> layers_of(const NetOptions& options, const std::vector<std::string>& sets, i64 batch,
                                const std::string& type);

}  // namespace cortado
