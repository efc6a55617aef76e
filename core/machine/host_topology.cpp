#include "core/machine/host_topology.h"

#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "core/base/error.h"

namespace cortado {
namespace {
constexpr int word_bits = 64;

/// hwloc's set, freed.
struct Bitmap {
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  Bitmap() = default;
  Bitmap(const Bitmap&) = delete;
  Bitmap& operator=(const Bitmap&) = delete;
  ~Bitmap() { hwloc_bitmap_free(set); }
};

CpuSet set_of(hwloc_const_bitmap_t set) {
  CpuSet cpus;
  if (hwloc_bitmap_last(set) < 0) return cpus;  // none, or all there could be
  for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu)) cpus.add(cpu);
  return cpus;
}

std::string info(hwloc_obj_t object, const char* name) {
  const char* const value = hwloc_obj_get_info_by_name(object, name);
  return value != nullptr ? value : "";
}

/// ARM's processors tell who made them and which design they are, in numbers.
std::string arm_processor(const std::string& implementer, const std::string& part) {
  static const std::map<std::string, const char*> names = {
      {"0x41 0xd0c", "Neoverse N1"}, {"0x41 0xd40", "Neoverse V1"}, {"0x41 0xd49", "Neoverse N2"},
      {"0x41 0xd4f", "Neoverse V2"}, {"0x46 0x001", "A64FX"},       {"0x48 0xd01", "TaiShan v110"},
      {"0x70 0x660", "FTC660"},      {"0x70 0x661", "FTC661"},      {"0x70 0x662", "FTC662"},
      {"0x70 0x663", "FTC663"},      {"0x70 0x862", "FTC862"}};
  const auto found = names.find(implementer + " " + part);
  return (found != names.end() ? std::string(found->second) : "ARM processor") + " (implementer " + implementer +
         ", part " + part + ")";
}

/// The processor's name, with family and model where the system tells them: a name like "AMD EPYC" covers generations
/// whose fastest plans differ.
std::string processor_of(hwloc_obj_t pu) {
  for (hwloc_obj_t object = pu; object != nullptr; object = object->parent) {
    const std::string name = info(object, "CPUModel"), model = info(object, "CPUModelNumber");
    const std::string part = info(object, "CPUPart");
    if (name.empty() && !part.empty()) return arm_processor(info(object, "CPUImplementer"), part);
    if (name.empty()) continue;
    return model.empty() ? name : name + " (family " + info(object, "CPUFamilyNumber") + ", model " + model + ")";
  }
  return "unknown processor";
}

/// The cache of a level above the object; level 0: the nearest to memory. nullptr: there is none.
hwloc_obj_t cache_above(hwloc_obj_t pu, unsigned level) {
  hwloc_obj_t found = nullptr;
  for (hwloc_obj_t object = pu; object != nullptr; object = object->parent)
    if (hwloc_obj_type_is_dcache(object->type) != 0 && (level == 0 || object->attr->cache.depth == level))
      found = object;
  return found;
}

/// Has `cores` hold a core once. True if it did not before.
bool add_core(std::vector<hwloc_obj_t>& cores, hwloc_obj_t core) {
  if (std::find(cores.begin(), cores.end(), core) != cores.end()) return false;
  cores.push_back(core);
  return true;
}

i64 bytes_of(hwloc_obj_t cache) { return cache != nullptr ? static_cast<i64>(cache->attr->cache.size) : 0; }

hwloc_topology_t make() {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) throw ConfigError("hwloc", "cannot begin: " + std::string(strerror(errno)));
  return made;
}
}  // namespace

void CpuSet::add(int cpu) {
  const auto word = static_cast<std::size_t>(cpu / word_bits);
  if (word >= words_.size()) words_.resize(word + 1);
  words_[word] |= std::uint64_t{1} << (cpu % word_bits);
}

CpuSet& CpuSet::operator|=(const CpuSet& other) {
  words_.resize(std::max(words_.size(), other.words_.size()));
  for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  return *this;
}

bool CpuSet::operator==(const CpuSet& other) const {
  const int last = std::max(end(), other.end());
  for (int cpu = 0; cpu < last; ++cpu)
    if (contains(cpu) != other.contains(cpu)) return false;
  return true;
}

bool CpuSet::contains(int cpu) const {
  const auto word = static_cast<std::size_t>(cpu / word_bits);
  return word < words_.size() && (words_[word] >> (cpu % word_bits) & 1) != 0;
}

int CpuSet::count() const {
  int sum = 0;
  for (int cpu = 0; cpu < end(); ++cpu) sum += contains(cpu) ? 1 : 0;
  return sum;
}

int CpuSet::end() const {
  int cpu = static_cast<int>(words_.size()) * word_bits;
  while (cpu > 0 && !contains(cpu - 1)) --cpu;
  return cpu;
}

std::string CpuSet::text() const {
  std::string ranges;
  for (int first = 0; first < end(); ++first) {
    if (!contains(first)) continue;
    int last = first;
    while (contains(last + 1)) ++last;
    if (!ranges.empty()) ranges += ",";
    ranges += std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
    first = last;
  }
  return ranges.empty() ? "?" : ranges;
}

struct HostTopology::Handle {
  hwloc_topology_t topology = make();
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { hwloc_topology_destroy(topology); }
  void load(const std::string& of, const std::string& advice) const {
    if (hwloc_topology_load(topology) != 0)
      throw ConfigError(of, "hwloc cannot read the topology: " + std::string(strerror(errno)), advice);
  }
};

const HostTopology& HostTopology::here() {
  static const HostTopology read = [] {
    auto handle = std::make_shared<Handle>();
    handle->load("this node", "mount /sys and /proc; unset HWLOC_XMLFILE and HWLOC_SYNTHETIC");
    return HostTopology(std::move(handle));
  }();
  return read;
}

HostTopology HostTopology::synthetic(const std::string& text) {
  auto handle = std::make_shared<Handle>();
  if (hwloc_topology_set_synthetic(handle->topology, text.c_str()) != 0)
    throw ConfigError("topology '" + text + "'", "is not in hwloc's short form", "write it as package:2 core:4 pu:1");
  handle->load("topology '" + text + "'", "");
  return HostTopology(std::move(handle));
}

HostTopology HostTopology::xml(const std::string& file) {
  auto handle = std::make_shared<Handle>();
  if (hwloc_topology_set_xml(handle->topology, file.c_str()) != 0)
    throw ConfigError(file, "is not hwloc's XML", "write it with lstopo " + file);
  handle->load(file, "write it with lstopo " + file);
  return HostTopology(std::move(handle));
}

HostTopology::Share HostTopology::share_of(const CpuSet& cpus) const {
  Share share;
  share.processor = "unknown processor";
  std::map<hwloc_obj_t, std::vector<hwloc_obj_t>> cores_of, cores_of_l2;  // by cache
  hwloc_topology_t topology = handle_->topology;
  bool first = true;
  for (hwloc_obj_t pu = nullptr; (pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != nullptr;) {
    if (!cpus.contains(static_cast<int>(pu->os_index))) continue;
    const hwloc_obj_t cache = cache_above(pu, 0);
    hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu);
    if (core == nullptr) core = pu;
    if (first) {
      share.processor = processor_of(pu);
      share.l2 = bytes_of(cache_above(pu, 2));
      share.last = bytes_of(cache);
      first = false;
    }
    auto& cores = cores_of[cache];
    if (!add_core(cores, core)) continue;
    ++share.cores;
    // Cores without a cache share none.
    if (const hwloc_obj_t l2 = cache_above(pu, 2)) {
      add_core(cores_of_l2[l2], core);
      share.l2_cores = std::max(share.l2_cores, static_cast<int>(cores_of_l2[l2].size()));
    }
    share.cache_cores = std::max(share.cache_cores, cache != nullptr ? static_cast<int>(cores.size()) : 1);
  }
  return share;
}

CpuSet HostTopology::cpus() const { return set_of(hwloc_topology_get_allowed_cpuset(handle_->topology)); }

CpuSet HostTopology::own_cpus() const { return bound(HWLOC_CPUBIND_THREAD); }

CpuSet HostTopology::process_cpus() const { return bound(HWLOC_CPUBIND_PROCESS); }

CpuSet HostTopology::bound(int flags) const {
  const Bitmap found;
  // A topology that stands for another machine knows no binding: hwloc then names all its CPUs.
  if (hwloc_get_cpubind(handle_->topology, found.set, flags) != 0) return cpus();
  const CpuSet own = set_of(found.set);
  return own.count() > 0 ? own : cpus();
}

}  // namespace cortado
