#include "core/tuner/tuning_key.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tuple>

namespace cortado {
namespace {
bool is_known(i64 number) { return number > 0; }

double apart(i64 a, i64 b) {
  if (!is_known(a) || !is_known(b)) return 0;
  return std::abs(std::log2(static_cast<double>(a)) - std::log2(static_cast<double>(b)));
}

double apart(const std::string& a, const std::string& b) { return a == b ? 0 : 1; }

/// The description of a GPU without its number: "NVIDIA H100 (device 1), compute capability 9.0".
std::string without_number(const std::string& description) {
  const auto from = description.find(" (device "), to = description.find(')', from);
  if (from == std::string::npos || to == std::string::npos) return description;
  return description.substr(0, from) + description.substr(to + 1);
}

/// "..., 512-bit vectors, AMX, 1 x 2 OpenMP threads on CPUs 0-1".
bool read_openmp(const std::string& machine, TuningKey& key) {
  const std::string vectors = "-bit vectors, ", matrices = "AMX, ";
  const auto end = machine.rfind(vectors);
  if (end == std::string::npos) return false;
  const auto comma = machine.rfind(", ", end);
  if (comma == std::string::npos) return false;
  auto rest = end + vectors.size();
  const bool has_matrices = machine.compare(rest, matrices.size(), matrices) == 0;
  if (has_matrices) rest += matrices.size();
  TuningKey read = key;
  if (std::sscanf(machine.c_str() + comma, ", %5d-bit", &read.vector_bits) != 1) return false;
  if (std::sscanf(machine.c_str() + rest, "%6d x %6d OpenMP", &read.core_groups, &read.threads) != 2) return false;
  read.processor = machine.substr(0, comma);
  read.bf16_speed = has_matrices ? 16 : 0;
  key = read;
  return true;
}
}  // namespace

TuningKey::TuningKey(const MachineSpec& machine, const HostTopology::Share& host, const std::string& build)
    : backend(machine.name),
      processor(machine.works_from_caches() ? host.processor : without_number(machine.description)),
      build(build),
      vector_bits(8 * machine.simd_bytes),
      bf16_speed(machine.bf16_speed),
      core_groups(machine.core_groups),
      threads(machine.cpes),
      cache_cores(machine.works_from_caches() ? std::min(host.cache_cores, machine.core_groups * machine.cpes) : 0),
      scratch_kib(machine.scratch_bytes / 1024),
      cache_kib(machine.cache_bytes / 1024) {}

TuningKey::TuningKey(const std::string& backend, const std::string& machine, const std::string& build)
    : backend(backend), processor(without_number(machine)), build(build) {
  read_openmp(machine, *this);
}

bool TuningKey::operator<(const TuningKey& o) const {
  const auto all = [](const TuningKey& k) {
    return std::tie(k.backend, k.vector_bits, k.bf16_speed, k.core_groups, k.threads, k.cache_cores, k.scratch_kib,
                    k.cache_kib, k.processor, k.build);
  };
  return all(*this) < all(o);
}

TuningKey::Distance TuningKey::distance(const TuningKey& o) const {
  double unknown = 0;
  for (const i64 number : {i64{vector_bits}, i64{o.vector_bits}, i64{bf16_speed}, i64{o.bf16_speed}, i64{core_groups},
                           i64{o.core_groups}, i64{threads}, i64{o.threads}, i64{cache_cores}, i64{o.cache_cores},
                           scratch_kib, o.scratch_kib, cache_kib, o.cache_kib})
    unknown += is_known(number) ? 0 : 1;
  return {apart(i64{vector_bits}, o.vector_bits) + apart(i64{bf16_speed}, o.bf16_speed),
          apart(i64{threads}, o.threads) + apart(i64{core_groups}, o.core_groups),
          apart(i64{cache_cores}, o.cache_cores),
          apart(scratch_kib, o.scratch_kib),
          apart(cache_kib, o.cache_kib),
          apart(processor, o.processor),
          apart(build, o.build),
          unknown};
}

std::string TuningKey::differences(const TuningKey& o) const {
  std::string text;
  const auto add = [&](const char* what, const std::string& there, const std::string& here) {
    text += std::string(text.empty() ? "" : ", ") + what + " " + there + " (here " + here + ")";
  };
  const auto number = [&](const char* what, i64 here, i64 there) {
    if (apart(here, there) > 0) add(what, std::to_string(there), std::to_string(here));
  };
  number("vector bits", vector_bits, o.vector_bits);
  number("bf16 speed", bf16_speed, o.bf16_speed);
  number("threads", threads, o.threads);
  number("core groups", core_groups, o.core_groups);
  number("cores of a cache", cache_cores, o.cache_cores);
  number("scratchpad KiB", scratch_kib, o.scratch_kib);
  number("cache KiB", cache_kib, o.cache_kib);
  if (processor != o.processor) add("processor", o.processor, processor);
  if (build != o.build) add("build", o.build, build);
  return text;
}

}  // namespace cortado
