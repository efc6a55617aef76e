#include "backends/kokkos/cuda_devices.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "backends/kokkos/cublas.h"
#include "backends/kokkos/cuda_check.h"
#include "backends/kokkos/cudnn.h"
#include "backends/kokkos/launch.h"
#include "core/base/error.h"

namespace cortado::kokkos {
namespace {

constexpr const char* other_build = "run on a node that has a GPU, or use a build of the preset openmp";

/// The version in the runtime's form: 13000 is 13.0.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// CUDA's newest version that the driver knows; 0: no driver.
int driver_knows() {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess) cudaGetLastError();
  return version;
}

int runtime_version() {
  int version = 0;
  cudaRuntimeGetVersion(&version);
  return version;
}

/// The kernel module's own number, such as 580.65.06; empty where the system does not tell.
std::string module_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line, word;
  std::getline(file, line);
  std::istringstream words(line);
  while (words >> word)
    if (word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != std::string::npos) return word;
  return "";
}

int count_devices() {
  if (driver_knows() == 0) throw ConfigError("CUDA", "this machine has no NVIDIA driver", other_build);
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (status == cudaErrorInsufficientDriver)
    throw ConfigError("CUDA",
                      "the driver knows CUDA " + version_text(driver_knows()) + ", this build needs " +
                          version_text(runtime_version()),
                      "update the driver, or build with an older CUDA toolkit");
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0))
    throw ConfigError("CUDA", "the driver finds no device",
                      std::string("see nvidia-smi and CUDA_VISIBLE_DEVICES; ") + other_build);
  if (status != cudaSuccess)
    throw ConfigError("CUDA", std::string("cannot count devices: ") + cudaGetErrorString(status), "see nvidia-smi");
  return count;
}

std::string named(int device, const cudaDeviceProp& properties) {
  return "CUDA device " + std::to_string(device) + " (" + properties.name + ")";
}

cudaDeviceProp properties_of(int device) {
  cudaDeviceProp properties{};
  cuda_check(cudaGetDeviceProperties(&properties, device), "read a device's properties");
  return properties;
}

/// Checks that this build has code for it, and that it lets this process in.
void check_device(int device) {
  const cudaDeviceProp properties = properties_of(device);
  if (10 * properties.major + properties.minor < CORTADO_CUDA_ARCH)
    throw ConfigError(named(device, properties),
                      "has compute capability " + std::to_string(properties.major) + "." +
                          std::to_string(properties.minor) + ", this build needs " +
                          std::to_string(CORTADO_CUDA_ARCH / 10) + "." + std::to_string(CORTADO_CUDA_ARCH % 10) +
                          " or more",
                      "choose another with --devices, or build with a Kokkos for it: scripts/get-kokkos --cuda ARCH");
  cudaError_t status = cudaSetDevice(device);
  if (status == cudaSuccess) status = cudaFree(nullptr);  // makes the context
  cudaGetLastError();
  if (status != cudaSuccess)
    throw ConfigError(named(device, properties), std::string("cannot be used: ") + cudaGetErrorString(status),
                      "see nvidia-smi: others may have taken it or its memory; choose another with --devices");
}

}  // namespace

std::vector<int> choose_cuda_devices(const Options& options) {
  const std::vector<int> devices = devices_of_core_groups(options.devices, count_devices(), options.core_groups);
  for (auto device = devices.begin(); device != devices.end(); ++device)
    if (std::find(devices.begin(), device, *device) == device) check_device(*device);
  return devices;
}

MachineSpec spec_of_device(int device, int core_groups, Tf32 tf32) {
  const cudaDeviceProp properties = properties_of(device);
  if (properties.major < 8) tf32 = Tf32::none;  // it has no such units
  int clock_khz = 0;
  cuda_check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device), "read the clock rate");
  constexpr int teams = 8;  // resident per multiprocessor: 2048 threads
  char memory[32];
  std::snprintf(memory, sizeof memory, "%.1f GiB", static_cast<double>(properties.totalGlobalMem) / (1 << 30));
  MachineSpec spec;
  spec.name = "cuda";
  spec.description = std::string(properties.name) + " (device " + std::to_string(device) + "), compute capability " +
                     std::to_string(properties.major) + "." + std::to_string(properties.minor) + ", " +
                     std::to_string(properties.multiProcessorCount) + " multiprocessors, " + memory +
                     (tf32 == Tf32::all            ? ", floats multiplied in TF32"
                      : tf32 == Tf32::convolutions ? ", convolutions in TF32"
                                                   : "");
  spec.core_groups = core_groups;
  spec.cpes = properties.multiProcessorCount * teams;
  spec.scratch_bytes = static_cast<i64>(properties.sharedMemPerBlock) - CudaTeam::reserved_bytes;
  spec.host_memory = false;
  spec.tf32 = tf32 != Tf32::none;
  spec.own_lanes = CudaTeam::own_lanes;
  spec.simd_bytes = 128;
  spec.line_bytes = 8192;  // eight floats for each lane of a team, so that several loads are on their way
  spec.clock_hz = 1e3 * clock_khz;
  return spec;
}

void let_devices_reach_each_other(const std::vector<int>& devices) {
  for (const int from : devices)
    for (const int to : devices) {
      int possible = 0;
      if (from == to || cudaDeviceCanAccessPeer(&possible, from, to) != cudaSuccess || possible == 0) continue;
      cuda_check(cudaSetDevice(from), "use a device");
      cudaDeviceEnablePeerAccess(to, 0);
    }
  cudaGetLastError();  // it may be enabled already, or not allowed: copies then go through the host
}

std::vector<std::pair<std::string, std::string>> cuda_software() {
  std::vector<std::pair<std::string, std::string>> all;
  const int known = driver_knows();
  const std::string module = module_version();
  all.emplace_back("NVIDIA driver",
                   known == 0 ? "none" : (module.empty() ? "" : module + ", ") + "CUDA " + version_text(known));
  all.emplace_back("CUDA runtime", version_text(runtime_version()));
  all.emplace_back("cuBLAS", cublas_version());
  all.emplace_back("cuDNN", cudnn_version());
  return all;
}

}  // namespace cortado::kokkos
