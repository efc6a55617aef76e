#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/machine/core_group.h"
#include "core/machine/devices.h"
#include "core/machine/isa.h"
#include "core/machine/tf32.h"

namespace cortado {

struct BackendOptions {
  int core_groups = 0;       ///< 0: as many as the backend finds useful (1 on OpenMP), or as devices were chosen
  DeviceChoice devices;      ///< of backends that have any; others warn and run as ever
  Tf32 tf32 = Tf32::none;    ///< on GPUs; others warn if it is `all`
  int cpus = 0;              ///< OpenMP threads unless OMP_NUM_THREADS says otherwise; 0 means as many as OpenMP makes
  std::optional<Isa> isa;    ///< x86-64: what programs use (instruction_set.h); nothing: what this process chooses
  bool timing_only = false;  ///< simulator: programs run their schedule without arithmetic
  std::string profile;       ///< simulator: a timeline is written here at the end, and a table by kernel to stderr
  std::string machine;       ///< simulator: which one; empty means SW26010
};

/// Makes the processor of this build's backend, with every program of the tree. Throws ConfigError for options that
/// only the simulator has.
std::unique_ptr<Processor> make_processor(const BackendOptions& options = {});

/// The names and versions of the software between the backend and the machine. For GPUs, of the driver and NVIDIA's
/// libraries; it needs no device. On x86-64, the instruction set of the processor that was made last.
std::vector<std::pair<std::string, std::string>> backend_software();

/// A figure of a machine that is known by description alone, and how much it is worth: "assumed: no source known".
struct MachineFigure {
  std::string name, value, origin;
};

/// The figures that the simulator goes by for the machine of that name; none on other backends. Empty means SW26010.
std::vector<MachineFigure> machine_figures(const std::string& machine);

}  // namespace cortado
