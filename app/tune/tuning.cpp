#include "app/tune/tuning.h"

#include "app/build_info.h"
#include "core/base/file.h"
#include "core/base/user_folders.h"
#include "core/solver/agreement.h"

namespace cortado {

TuningTable empty_tuning(const MachineSpec& machine) {
  using namespace build_info;
  const HostTopology& node = HostTopology::here();
  return TuningTable({machine, node.share_of(node.process_cpus()), std::string(version) + " " + compiler + " " + type});
}

TuningTable read_tuning(const MachineSpec& machine, const std::string& file, const Replicas& ranks) {
  TuningTable table = empty_tuning(machine);
  on_root(ranks, [&] {
    for (const std::string& known : {std::string("models/tuning.prototxt"), user_config_folder() + "/tuning.prototxt"})
      if (exists(known)) table.read(known);
    if (!file.empty()) table.read(file);
  });
  table.take_from_root(ranks);
  return table;
}

}  // namespace cortado
