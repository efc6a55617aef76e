#pragma once
#include <map>
#include <optional>
#include <string>

#include "comm/predict/speedup.h"

namespace cortado {

/// The machine of `cortado predict`, from a JSON file; docs/use/prediction.md lists its fields.
struct PredictionMachine {
  Links links;
  bool has_network = false;       ///< `across` is in the file
  double encode = 0, decode = 0;  ///< seconds a value
  double divided_efficiency = 1;  ///< Parallelism::divided_efficiency
  /// Times of layers on one device; absent means that they are measured.
  struct Compute {
    i64 batch = 0;
    double iteration = 0;                     ///< seconds; 0 means the sum over layers
    std::map<std::string, LayerWork> layers;  ///< by name; seconds only
  };
  std::optional<Compute> compute;
};

/// Reads a machine. Throws FileError, and ConfigError naming file and field for fields that are missing, unknown, of
/// another type or not positive.
PredictionMachine read_prediction_machine(const std::string& file);

/// Sets the times of `work`, whose layers have names and sizes, from the file. Throws ConfigError for a layer with
/// parameters that the file lacks, and for layers of the file that the net lacks.
void take_times(const std::string& file, const PredictionMachine::Compute& from, Work& work);

}  // namespace cortado
