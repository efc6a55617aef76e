#include "app/session/backend.h"

#include <cstdlib>

#include "app/modules/modules.h"
#include "app/session/instruction_set.h"
#include "backends/reference/processor.h"
#include "core/base/error.h"
#include "core/base/log.h"
#ifdef CORTADO_WITH_KOKKOS
#include "app/modules/module.h"
#include "backends/kokkos/processor.h"
#include "programs/kokkos_float_programs.h"
#endif
#ifdef CORTADO_WITH_ATHREAD
#include "backends/sunway/athread/processor.h"
namespace cortado::sunway {
Programs all_programs();  // generated
}
#endif
#ifdef CORTADO_WITH_SUNWAY
#include "backends/sunway/costs.h"
#include "backends/sunway/sim/processor.h"
#include "programs/sunway_all_programs.h"
#endif

namespace cortado {

namespace {
#ifdef CORTADO_WITH_CUDA
constexpr bool has_devices = true;
#else
constexpr bool has_devices = false;
#endif

std::optional<Isa> used_isa;

#ifdef CORTADO_WITH_KOKKOS
std::unique_ptr<Processor> make_kokkos(const kokkos::Options& options) {
  if (const std::string name = used_isa ? module_of(*used_isa) : ""; !name.empty()) {
    std::unique_ptr<Processor> processor;
    Module(name, name)
        .entry<void(const kokkos::Options&, std::unique_ptr<Processor>&)>("cortado_processor")(options, processor);
    return processor;
  }
  kokkos::Programs programs = kokkos::float_programs();
  programs.add_later(kokkos_bf16_programs);
  return kokkos::make_processor(options, std::move(programs));
}
#endif
}  // namespace

std::unique_ptr<Processor> make_processor(const BackendOptions& wanted) {
  if (!has_devices && (wanted.devices.all || !wanted.devices.numbers.empty()))
    CORTADO_LOG(warning) << "This build runs on processors: it takes no notice of the devices asked for";
  if (!has_devices && wanted.tf32 == Tf32::all)
    CORTADO_LOG(warning) << "This build runs on processors: it multiplies in FP32, not in TF32";
  used_isa = wanted.isa ? wanted.isa : choose_isa();
#ifdef CORTADO_WITH_SUNWAY
  sunway::sim::Options options;
  options.core_groups = wanted.core_groups;
  options.timing_only = wanted.timing_only;
  options.profile = wanted.profile;
  if (!wanted.machine.empty()) options.machine = wanted.machine;
  return sunway::sim::make_processor(options, sunway::all_programs());
#else
  if (wanted.timing_only || !wanted.profile.empty() || !wanted.machine.empty())
    throw ConfigError("command line", "--timing-only, --profile and --simulate are the simulator's",
                      "use a build of the preset sunway-sim");
#if defined(CORTADO_WITH_ATHREAD)
  return sunway::athread::make_processor(wanted.core_groups, sunway::all_programs());
#elif defined(CORTADO_WITH_KOKKOS)
  kokkos::Options options;
  options.core_groups = wanted.core_groups;
  options.devices = wanted.devices;
  options.tf32 = wanted.tf32;
  if (std::getenv("OMP_NUM_THREADS") == nullptr) options.threads = wanted.cpus;
  options.amx = !used_isa || *used_isa == Isa::amx;
  return make_kokkos(options);
#else
  reference::Options options;
  options.core_groups = wanted.core_groups;
  return reference::make_processor(options, reference_programs());
#endif
#endif
}

std::vector<std::pair<std::string, std::string>> backend_software() {
  std::vector<std::pair<std::string, std::string>> software;
#ifdef CORTADO_WITH_KOKKOS
  software = kokkos::software();
#endif
  if (used_isa) software.emplace_back("Instruction set", describe_choice(*used_isa));
  return software;
}

std::vector<MachineFigure> machine_figures([[maybe_unused]] const std::string& machine) {
  std::vector<MachineFigure> figures;
#ifdef CORTADO_WITH_SUNWAY
  const std::string name = machine.empty() ? sunway::sim::Options().machine : machine;
  for (const auto& figure : sunway::machine_description(name).figures)
    figures.push_back({figure.name, figure.value, std::string(to_string(figure.origin)) + ": " + figure.source});
#endif
  return figures;
}

}  // namespace cortado
