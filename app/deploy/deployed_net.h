#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/formats/caffe.pb.h"
#include "core/tensor/blob.h"

namespace cortado {

struct NetOptions;
struct Session;
class NetFlags;

/// Choices in making a training net one that is used.
struct DeployOptions {
  i64 batch = 1;                     ///< samples of an input that stands for a data layer
  std::vector<std::string> outputs;  ///< blobs to keep; empty: those of the losses of the largest weight
};

/// True if the net reads data by itself: it has a layer without bottoms that is no Input and no Parameter.
bool reads_data(const caffe::NetParameter& net);

/// The net without data layers and losses. `training` is filtered for phase TEST; `shape_of` gives the shape of a data
/// layer's top there.
///
///   Data --> ... --> ip --> SoftmaxWithLoss     ==>     Input --> ... --> ip --> Softmax
///      `--- label -------------^
///
/// Input layers keep mean and scale of the first top. A net without losses keeps what nobody reads. Layers on which no
/// output depends go. Rules for phases go. Throws ConfigError for an output that the net does not have.
caffe::NetParameter without_training(const caffe::NetParameter& training, const DeployOptions& options,
                                     const std::function<Shape(const std::string& blob)>& shape_of);

/// Options for a net whose layers and blobs are those of its text: no pass that only saves time or memory runs.
NetOptions plain_options(const Session& session);

/// The net's text without values, for a prototxt that others read too: `round_mode: FLOOR`, which OpenCV does not know,
/// becomes `ceil_mode: false`, which it does.
caffe::NetParameter text_for_others(const caffe::NetParameter& net);

/// The net of --model as it is used, with the values of the weights' file in `blobs` of its layers (none if the file's
/// name is empty). Throws what reading nets and weights does.
caffe::NetParameter deployed_net(const Session& session, const NetFlags& flags, const DeployOptions& options,
                                 const std::string& weights);

}  // namespace cortado
