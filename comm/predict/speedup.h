#pragma once
#include <functional>
#include <string>
#include <vector>

#include "comm/predict/links.h"

namespace cortado {

/// What one device does of a layer, and what of it others may need.
struct LayerWork {
  std::string name;
  bool fully_connected = false;
  i64 parameters = 0;
  i64 inputs = 0, outputs = 0;                   ///< values a sample
  double forward = 0, backward = 0, update = 0;  ///< seconds: of outputs, of errors, of parameters' gradients
  double seconds() const { return forward + backward + update; }
};

/// A training iteration of one device.
struct Work {
  i64 batch = 1;                  ///< samples that the seconds are of
  std::vector<LayerWork> layers;  ///< in forward order
  double iteration = 0;           ///< seconds; what is more than the sum over layers is in none of them
};

/// What becomes of fully connected layers. Other layers are always parallel over data.
enum class FullyConnected {
  data,   ///< like the others: gradients are summed
  model,  ///< outputs divided over devices; sub-batches one after another through all (sections 2.4, 5.1)
  whole   ///< every device has them whole and takes all sub-batches' activations (section 5.2)
};

/// Behind what gradients travel, layer by layer.
enum class HiddenBehind {
  nothing,      ///< all together after backward
  backward,     ///< in the order in which backward makes them (the paper)
  next_forward  ///< and behind the next forward, which each layer waits for its own in: its first layers' go first
};

struct Parallelism {
  FullyConnected fully_connected = FullyConnected::model;
  i64 sub_batch = 0;  ///< samples; 0: a device's batch
  /// The paper's equations count what is left of the messages of one pass; every pass waits for its own.
  bool count_one_pass = false;
  HiddenBehind hidden_behind = HiddenBehind::backward;
  /// Speed of a layer divided over devices, over that of as many devices (Table 4: 6.5 / 4 / 3.34 = 0.49).
  double divided_efficiency = 1;
  /// Seconds to sum so many values over devices; empty: sum_seconds.
  std::function<double(int devices, i64 values)> sum;
};

/// What a layer's messages are, and what of their time nothing hides.
struct LayerMessages {
  std::string name, what;  ///< "gradients", "activations", "errors"
  double bytes = 0;        ///< of one device's values, encoded; of one pass
  double seconds = 0;      ///< of one pass
  double exposed = 0;      ///< of one iteration
};

struct Prediction {
  int devices = 1;
  i64 passes = 1;  ///< through fully connected layers
  std::vector<LayerMessages> messages;
  double data_parallel = 0, fully_connected = 0;  ///< seconds of arithmetic
  double exposed_gradients = 0, exposed_activations = 0;
  double iteration = 0;  ///< seconds
  double speedup = 1;    ///< samples a second over those of one device; every device has its own batch (weak scaling)
  double efficiency() const { return speedup / devices; }
};

/// Throws ConfigError for a sub-batch larger than all devices' batch.
Prediction predict(const Work& work, const Links& links, const Coding& coding, const Parallelism& how, int devices);

/// Section 5.1.3, in any unit of time: N total / (total - fully connected + convolutions' penalty + passes * pass +
/// fully connected layers' penalty).
double speedup_of(int devices, double total, double fully_connected, double convolution_penalty, double passes,
                  double pass, double penalty);
/// What is left of `message` behind `work`.
double remainder_of(double message, double work);
/// Section 5.1.2's remainders in a pass through fully connected layers: layer i's inputs (`messages[i]`) behind its
/// forward, its outputs' errors (`messages[i + 1]`) behind the backward of the layer before, those of the first behind
/// all layers' updates. In forward order the inputs', then the errors'. `messages` has the last layer's outputs too;
/// those are not needed forward. Without the first and last messages of all, which nothing hides.
struct Remainders {
  std::vector<double> inputs, errors;
  double sum() const;
};
Remainders remainders_of(const std::vector<LayerWork>& layers, const std::vector<double>& messages);
/// Table 6's full pass: `others` messages of which all hide behind `work`, or what is left of each.
double full_pass_of(double message, double work, int others);

}  // namespace cortado
