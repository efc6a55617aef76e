#pragma once
#include <string>
#include <vector>

#include "core/base/types.h"

namespace cortado {

/// The devices of nets, and how nets are built.
struct SessionOptions {
  int core_groups = 1;               ///< 0 means as many as the backend finds useful
  std::vector<std::string> devices;  ///< GPUs: numbers, or "all"; empty means the local rank's
  std::string multiply = "auto";     ///< or fp32, tf32: how GPUs multiply floats
  bool timing_only = false;          ///< of the simulator (app/session/backend.h), like the next
  std::string profile;
  std::string simulate;              ///< the machine; empty means the backend's own choice
  bool needs_shapes_only = false;    ///< Zeros stand for data whose source is away.
  std::vector<std::string> shapes;   ///< of their samples (ShapeSources)
  std::string precision = "fp32";    ///< or bf16; of nets that are read without a solver
  std::vector<std::string> without;  ///< passes that do not rewrite nets
};

}  // namespace cortado
