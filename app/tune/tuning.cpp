#include "app/tune/tuning.h"

#include <cstdlib>

#include "app/build_info.h"
#include "core/base/file.h"
#include "core/solver/agreement.h"

namespace cortado {
namespace {
std::string of_user() {
  const char *const config = std::getenv("XDG_CONFIG_HOME"), *const home = std::getenv("HOME");
  const std::string folder =
      config != nullptr && *config != '\0' ? config : std::string(home != nullptr ? home : "") + "/.config";
  return folder + "/cortado/tuning.prototxt";
}
}  // namespace

TuningTable empty_tuning(const MachineSpec& machine) {
  using namespace build_info;
  const HostTopology& node = HostTopology::here();
  return TuningTable({machine, node.share_of(node.process_cpus()), std::string(version) + " " + compiler + " " + type});
}

TuningTable read_tuning(const MachineSpec& machine, const std::string& file, const Replicas& ranks) {
  TuningTable table = empty_tuning(machine);
  on_root(ranks, [&] {
    for (const std::string& known : {std::string("models/tuning.prototxt"), of_user()})
      if (exists(known)) table.read(known);
    if (!file.empty()) table.read(file);
  });
  table.take_from_root(ranks);
  return table;
}

}  // namespace cortado
