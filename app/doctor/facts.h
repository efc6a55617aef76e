#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/doctor/finding.h"
#include "comm/clock_offsets.h"
#include "comm/same_start.h"
#include "core/base/types.h"
#include "core/machine/host_topology.h"

// The facts that `cortado doctor` looks at, as plain data: gathered on each rank, judged on rank 0 by checks that look
// nowhere else. Tests make facts up.

namespace cortado::doctor {

/// A limit of the system on this process, as `ulimit` shows it. -1 means unlimited.
struct LimitFacts {
  std::string name;  ///< "open files"
  std::string flag;  ///< "-n"
  i64 soft = -1, hard = -1;
  i64 unit = 1;  ///< bytes, or whatever it counts, in one of `ulimit`'s units
};

/// A path, and the file system under it.
struct StorageFacts {
  std::string path;
  std::string type;      ///< "ext4", "nfs", "lustre"; "" means not known
  i64 bytes = -1;        ///< the file's or the folder's own files'; -1: not known
  i64 free = -1;         ///< bytes that the file system has left
  int stripes = 0;       ///< a file's on a parallel file system; 0: not known
  i64 stripe_bytes = 0;  ///< bytes of a stripe
  std::string error;     ///< why it cannot be used; empty means that it can
};

/// A data set that a layer of the net reads.
struct SetFacts {
  std::string which;  ///< "layer 'data'", "test net 0: layer 'data'"
  std::string source;
  std::string error;  ///< why it cannot be opened; empty means that it can
  std::vector<StorageFacts> files;
};

/// A rank's view of the solver.
struct SolverFacts {
  std::string file;
  std::string error;               ///< why it cannot be read
  std::vector<StartField> fields;  ///< as ranks compare them before training
  std::vector<SetFacts> sets;
  StorageFacts snapshots;  ///< the folder of snapshot_prefix; without a path if there are no snapshots
};

/// The net as rank 0 would build it.
struct NetFacts {
  std::string error;
  std::string tuning;              ///< a line on the layers with entries
  i64 with_choice = 0, tuned = 0;  ///< layers
  i64 elsewhere = 0;               ///< of the tuned, those with an entry of another machine
  i64 memory = 0;                  ///< bytes that a process needs
  i64 snapshot = 0;                ///< bytes of a snapshot's files together
};

/// A process and its node.
struct RankFacts {
  int rank = 0, local_rank = 0;
  std::string host;

  std::string processor;
  CpuSet cpus, node_cpus;  ///< those of the process, and all of the node
  double quota = 0;        ///< processors that the control group grants; 0: no limit
  double load = 0;         ///< of the last minute
  std::string crowding;    ///< MpiJob::crowding

  std::string backend;        ///< of the build
  std::string backend_error;  ///< why the machine cannot be used
  std::string machine;        ///< MachineSpec::description
  int threads = 0;            ///< that work, in all core groups; 0 on devices
  int vector_bytes = 0;
  bool has_devices = false;
  std::vector<std::string> devices;             ///< the core groups', where they are devices
  std::map<std::string, std::string> software;  ///< between the backend and its devices
  std::string waiting;                          ///< how threads wait for work
  double spins = 0;                             ///< microseconds before they sleep; -1: for ever; -2: not known
  std::string matrix_library, why_no_library;
  int library_threading = -1;  ///< OpenBLAS': 0 none, 1 its own threads, 2 OpenMP; -1: not known

  std::string mpi;                                 ///< version
  std::string mpi_device;                          ///< MPICH's; empty: not told
  bool calls_from_threads = true;                  ///< MPI_THREAD_MULTIPLE
  std::map<std::string, std::string> environment;  ///< the variables that matter here, as far as they are set
  bool has_fabric = false;                         ///< InfiniBand, Omni-Path or the like

  StorageFacts shared_memory;  ///< /dev/shm
  std::vector<LimitFacts> limits;
  i64 free_memory = 0;
  std::string huge_pages;    ///< "always", "madvise", "never"; empty: not told
  bool clock_is_set = true;  ///< the system says that something sets its clock right

  SolverFacts solver;  ///< without a file if there is no --solver
};

/// All ranks, and what rank 0 alone finds out.
struct JobFacts {
  std::vector<RankFacts> ranks;
  std::vector<ClockOffset> clocks;  ///< of the ranks; empty: not measured
  NetFacts net;
  bool has_tuning = true;    ///< there is a tuning file with entries
  std::string tuning_error;  ///< why a tuning file cannot be read
};

/// The facts as JSON, and back.
nlohmann::json to_json(const RankFacts& facts);
RankFacts facts_of(const nlohmann::json& json);

}  // namespace cortado::doctor
