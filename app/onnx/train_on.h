#pragma once
#include <string>

#include "core/formats/caffe.pb.h"

namespace cortado {

/// Makes a net with one Input and one output a net that trains to classify: a Data layer that reads `source` stands for
/// the Input, SoftmaxWithLoss and Accuracy for a Softmax at the end. Throws ConfigError for other nets.
void train_on(const std::string& source, caffe::NetParameter& net);

}  // namespace cortado
