#pragma once
#include <functional>
#include <string>
#include <vector>

#include "comm/predict/links.h"

namespace cortado {

/// The work of one device for a layer, and the sizes that other devices may need.
struct LayerWork {
  std::string name;
  bool fully_connected = false;
  i64 parameters = 0;
  i64 inputs = 0, outputs = 0;                   ///< values a sample
  double forward = 0, backward = 0, update = 0;  ///< seconds for outputs, for errors, for parameters' gradients
  double seconds() const { return forward + backward + update; }
};

/// A training iteration of one device.
struct Work {
  i64 batch = 1;                  ///< samples that take these seconds
  std::vector<LayerWork> layers;  ///< in forward order
  double iteration = 0;           ///< seconds; the excess over the sum of layers is in none of them
};

/// The parallelism of fully connected layers. Other layers are always parallel over data.
enum class FullyConnected {
  data,   ///< like the others: gradients are summed
  model,  ///< outputs are divided over devices; sub-batches go one after another through all (sections 2.4, 5.1)
  whole   ///< every device has them whole and takes all sub-batches' activations (section 5.2)
};

/// The work behind which gradients travel, layer by layer.
enum class HiddenBehind {
  nothing,      ///< all together after backward
  backward,     ///< in the order in which backward makes them (the paper)
  next_forward  ///< also behind the next forward, in which each layer waits for its own; its first layers' gradients go
                ///< first
};

struct Parallelism {
  FullyConnected fully_connected = FullyConnected::model;
  i64 sub_batch = 0;  ///< samples; 0 means a device's batch
  /// The paper's equations count the exposed messages of one pass. In fact every pass waits for its own.
  bool count_one_pass = false;
  HiddenBehind hidden_behind = HiddenBehind::backward;
  /// The speed of a layer divided over devices, relative to that of as many devices (Table 4: 6.5 / 4 / 3.34 = 0.49).
  double divided_efficiency = 1;
  /// Seconds to sum `values` values over `devices` devices; empty means sum_seconds.
  std::function<double(int devices, i64 values)> sum;
};

/// A layer's messages, and the part of their time that nothing hides.
struct LayerMessages {
  std::string name, what;  ///< "gradients", "activations", "errors"
  double bytes = 0;        ///< one device's values in one pass, encoded
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

/// Predicts an iteration. Throws ConfigError for a sub-batch larger than all devices' batch.
Prediction predict(const Work& work, const Links& links, const Coding& coding, const Parallelism& how, int devices);

/// Section 5.1.3's speedup, in any unit of time:
///   N total / (total - fully connected + convolutions' penalty + passes * pass + fully connected layers' penalty)
double speedup_of(int devices, double total, double fully_connected, double convolution_penalty, double passes,
                  double pass, double penalty);
/// The part of `message` that `work` does not hide.
double remainder_of(double message, double work);
/// Section 5.1.2's remainders in a pass through fully connected layers, in forward order, inputs' and errors':
///   layer i's inputs (`messages[i]`)          behind its forward
///   its outputs' errors (`messages[i + 1]`)   behind the backward of the layer before; those of the first layer behind
///                                             all layers' updates
/// `messages` includes the last layer's outputs, which forward does not need. The first and last messages of all, which
/// nothing hides, are left out.
struct Remainders {
  std::vector<double> inputs, errors;
  double sum() const;
};
Remainders remainders_of(const std::vector<LayerWork>& layers, const std::vector<double>& messages);
/// Table 6's full pass: one message where `work` hides it, else the remainders of `others` messages.
double full_pass_of(double message, double work, int others);

}  // namespace cortado
