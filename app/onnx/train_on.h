#pragma once
#include <string>
#include <vector>

#include "core/formats/caffe.pb.h"

namespace cortado {

/// PyTorch's preparation of pixels: (value / 255 - mean) / deviation, by channel, channels in the order red, green,
/// blue where there are three.
struct Normalisation {
  std::vector<float> mean, deviation;  ///< as many as channels
};

/// Makes a net that takes pixels so one that takes them as Caffe's data layers give them: 0 to 255, channels in the
/// reverse order. Scale and mean go into the Input's transform_param, order and deviations into the weights of the
/// convolution that reads it. `text` is the net without values, `weights` with them. Throws ConfigError for other nets.
void take_bytes(const Normalisation& from, caffe::NetParameter& text, caffe::NetParameter& weights);

/// Makes a net with one Input and one output a net that trains to classify: a Data layer that reads `source` stands for
/// the Input, SoftmaxWithLoss and Accuracy for a Softmax at the end. Where `tests` is not empty, tests read that set.
/// Throws ConfigError for other nets.
void train_on(const std::string& source, const std::string& tests, caffe::NetParameter& net);

}  // namespace cortado
