#include "app/doctor/facts.h"

namespace cortado {
// nlohmann::json finds these by their arguments' namespaces.
static void to_json(nlohmann::json& json, const CpuSet& cpus) { json = cpus.words(); }
static void from_json(const nlohmann::json& json, CpuSet& cpus) {
  cpus = CpuSet(json.get<std::vector<std::uint64_t>>());
}
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StartField, of, name, value)

namespace doctor {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LimitFacts, name, flag, soft, hard, unit)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StorageFacts, path, type, bytes, free, stripes, stripe_bytes, error)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SetFacts, which, source, error, files)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SolverFacts, file, error, fields, sets, snapshots)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankFacts, rank, local_rank, host, processor, cpus, node_cpus, quota, load, crowding,
                                   backend, backend_error, machine, threads, vector_bytes, has_devices, devices,
                                   software, waiting, spins, matrix_library, why_no_library, library_threading, mpi,
                                   mpi_device, calls_from_threads, environment, has_fabric, shared_memory, limits,
                                   free_memory, huge_pages, clock_is_set, solver)

nlohmann::json to_json(const RankFacts& facts) {
  nlohmann::json json;
  to_json(json, facts);
  return json;
}

RankFacts facts_of(const nlohmann::json& json) { return json.get<RankFacts>(); }
}  // namespace doctor

}  // namespace cortado
