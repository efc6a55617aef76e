// A stand-in for CUDA's runtime and cuBLAS, put before them by LD_PRELOAD: device memory is the host's, copies are done
// at once, programs are counted instead of run. It holds the management side to what a real device asks of it (streams
// used with their own device current, nothing called once the driver is down) and fails where CORTADO_STAND_IN says:
//   devices=N capability=NN driver=VERSION memory=BYTES   what there is; 2 devices, 90, 13000, 1 GiB
//   refuse=N   the N-th program cannot be started         fault=N   it makes an illegal access
//   hidden=N heard=M   so it does, but nobody hears before the M-th next choice of a device, ours or Kokkos' own
//   report=1   at the end a line for each device: programs, and bytes that were never freed
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace {

long setting(const char* name, long otherwise) {
  const char* const text = std::getenv("CORTADO_STAND_IN");
  const std::string all = std::string(" ") + (text != nullptr ? text : ""), key = std::string(" ") + name + "=";
  const std::size_t at = all.find(key);
  return at == std::string::npos ? otherwise : std::atol(all.c_str() + at + key.size());
}

constexpr int most_devices = 8;

struct State {
  std::recursive_mutex mutex;
  std::map<void*, std::pair<int, std::size_t>> memory;  // device, bytes
  std::map<void*, int> streams, events;                 // device
  std::set<const void*> slots;                          // page-locked words, where labels may be left
  long programs[most_devices] = {}, launched = 0;
  std::size_t used[most_devices] = {};
  int hidden = 0;
  bool up = false, down = false, faulted[most_devices] = {};
};

State& state() {
  static State* const all = new State;  // outlives everybody
  return *all;
}

thread_local int current = 0;
thread_local cudaError_t last = cudaSuccess;

/// What a call gives back: its own error, which stays for cudaGetLastError, or that of the device, for ever.
cudaError_t result(cudaError_t own = cudaSuccess) {
  State& s = state();
  const cudaError_t status = s.down ? cudaErrorCudartUnloading : s.faulted[current] ? cudaErrorIllegalAddress : own;
  if (status != cudaSuccess) last = status;
  return status;
}

cudaError_t misuse(const char* call) {
  std::fprintf(stderr, "stand-in: %s with something of another device than the current %d\n", call, current);
  return result(cudaErrorInvalidResourceHandle);
}

bool is_here(const std::map<void*, int>& things, void* thing) {
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  const auto found = things.find(thing);
  return found != things.end() && found->second == current;
}

/// As the driver does when it is first used: what is registered later ends earlier.
void start() {
  State& s = state();
  const std::lock_guard<std::recursive_mutex> lock(s.mutex);
  if (s.up) return;
  s.up = true;
  std::atexit([] {
    State& end = state();
    end.down = true;
    if (setting("report", 0) == 0) return;
    for (int d = 0; d < setting("devices", 2); ++d)
      std::fprintf(stderr, "stand-in: device %d: %ld programs, %zu bytes left\n", d, end.programs[d], end.used[d]);
  });
}

template <class T>
cudaError_t make(T* handle, std::map<void*, int>& things) {
  start();
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  if (const cudaError_t status = result(); status != cudaSuccess) return status;
  *handle = reinterpret_cast<T>(std::malloc(1));
  things[*handle] = current;
  return cudaSuccess;
}

/// What a program's kernel carries by value holds its grant (backends/kokkos/space.h): a pointer to the core group's
/// CudaFailure (cuda_team.h), whose last word says where labels are left, and 32 bytes before that its own label.
struct Program {
  const char* label = nullptr;
  const char** begun = nullptr;  ///< null for kernels of Kokkos itself
};

Program program_of(void** arguments) {
  constexpr std::size_t before = 32, failure_bytes = 32;
  const auto word_at = [](const char* place) {
    char* word = nullptr;
    std::memcpy(&word, place, sizeof word);
    return word;
  };
  const auto& memory = state().memory;
  const char* const bytes = static_cast<const char*>(arguments[0]);
  for (std::size_t at = before; at < 4096; at += sizeof(void*)) {
    const auto found = memory.find(word_at(bytes + at));
    if (found == memory.end() || found->second.second != failure_bytes) continue;
    const char** const begun = reinterpret_cast<const char**>(word_at(word_at(bytes + at) + 24));
    if (state().slots.count(begun) != 0) return {word_at(bytes + at - before), begun};
  }
  return {};
}

/// Kokkos' initialisation asks by a kernel for which compute capability kernels were compiled: an int on the device.
void answer_kokkos(void** arguments) {
  void* answer = nullptr;
  std::memcpy(&answer, arguments[0], sizeof answer);
  const auto found = state().memory.find(answer);
  if (found == state().memory.end() || found->second.second != sizeof(int)) return;
  const int compiled_for = 900;
  std::memcpy(answer, &compiled_for, sizeof compiled_for);
}

}  // namespace

extern "C" {

cudaError_t cudaDriverGetVersion(int* version) {
  *version = static_cast<int>(setting("driver", 13000));
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(setting("devices", 2));
  return result(*count == 0 ? cudaErrorNoDevice : cudaSuccess);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "Stand-in");
  properties->major = static_cast<int>(setting("capability", 90) / 10);
  properties->minor = static_cast<int>(setting("capability", 90) % 10);
  properties->totalGlobalMem = static_cast<std::size_t>(setting("memory", 1 << 30));
  properties->multiProcessorCount = 4;
  properties->sharedMemPerBlock = 48 << 10;
  properties->sharedMemPerMultiprocessor = 228 << 10;
  properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->maxBlocksPerMultiProcessor = 32;
  for (int i = 0; i < 3; ++i) properties->maxGridSize[i] = 65535, properties->maxThreadsDim[i] = 1024;
  properties->maxGridSize[0] = 0x7fffffff;
  return result();
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 1'000'000;
  return result();
}
cudaError_t cudaDeviceCanAccessPeer(int* possible, int, int) {
  *possible = 1;
  return result();
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return result(); }
cudaError_t cudaSetDevice(int device) {
  start();
  if (device >= setting("devices", 2)) return result(cudaErrorInvalidDevice);
  current = device;
  if (State& s = state(); s.hidden > 0 && --s.hidden == 0) s.faulted[current] = true;
  return result();
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return result();
}
cudaError_t cudaGetLastError() {
  const cudaError_t status = last;
  last = cudaSuccess;
  return status;
}
cudaError_t cudaDeviceSynchronize() { return result(); }
cudaError_t cudaPeekAtLastError() { return last; }

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  start();
  State& s = state();
  const std::lock_guard<std::recursive_mutex> lock(s.mutex);
  if (s.used[current] + bytes > static_cast<std::size_t>(setting("memory", 1 << 30)))
    return result(cudaErrorMemoryAllocation);
  if (const cudaError_t status = result(); status != cudaSuccess) return status;
  *memory = std::aligned_alloc(256, (bytes + 256) / 256 * 256);
  std::memset(*memory, 0, bytes);
  s.memory[*memory] = {current, bytes};
  s.used[current] += bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  start();
  State& s = state();
  const std::lock_guard<std::recursive_mutex> lock(s.mutex);
  if (const cudaError_t status = result(); status != cudaSuccess || memory == nullptr) return status;
  const auto found = s.memory.find(memory);
  if (found == s.memory.end()) return result(cudaErrorInvalidValue);
  s.used[found->second.first] -= found->second.second;
  s.memory.erase(found);
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  if (const cudaError_t status = result(); status != cudaSuccess) return status;
  *memory = std::calloc(1, bytes);
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  if (bytes == sizeof(void*)) state().slots.insert(*memory);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) { return cudaMallocHost(memory, bytes); }
cudaError_t cudaFreeHost(void* memory) {
  if (const cudaError_t status = result(); status != cudaSuccess) return status;
  const std::lock_guard<std::recursive_mutex> lock(state().mutex);
  state().slots.erase(memory);
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = static_cast<std::size_t>(setting("memory", 1 << 30));
  *free = *total - state().used[current];
  return result();
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  if (const cudaError_t status = result(); status != cudaSuccess) return status;
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return is_here(state().streams, stream) ? cudaMemcpy(to, from, bytes, kind) : misuse("a copy");
}
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  if (const cudaError_t status = result(); status != cudaSuccess) return status;
  std::memset(memory, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  return is_here(state().streams, stream) ? cudaMemset(memory, value, bytes) : misuse("zeroing");
}
cudaError_t cudaMemcpyToSymbol(const void*, const void*, std::size_t, std::size_t, cudaMemcpyKind) { return result(); }

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return make(stream, state().streams); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return make(stream, state().streams); }
cudaError_t cudaStreamDestroy(cudaStream_t) { return result(); }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return result(); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t, unsigned) {
  return is_here(state().streams, stream) ? result() : misuse("ordering streams");
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return make(event, state().events); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return make(event, state().events); }
cudaError_t cudaEventDestroy(cudaEvent_t) { return result(); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return is_here(state().streams, stream) && is_here(state().events, event) ? result() : misuse("recording an event");
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return result(); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 1;
  return result();
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->numRegs = 32;
  attributes->maxThreadsPerBlock = 1024;
  attributes->maxDynamicSharedSizeBytes = 48 << 10;
  return result();
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void*) {
  *kernel = nullptr;
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void** arguments, std::size_t, cudaStream_t stream) {
  State& s = state();
  const std::lock_guard<std::recursive_mutex> lock(s.mutex);
  const bool has_arguments = arguments != nullptr && arguments[0] != nullptr;
  if (has_arguments) answer_kokkos(arguments);
  const Program program = has_arguments && !s.slots.empty() ? program_of(arguments) : Program();
  if (program.begun == nullptr) return result();
  if (!is_here(s.streams, stream)) return misuse("a launch");
  const long number = ++s.launched;
  ++s.programs[current];
  if (number == setting("refuse", 0)) return result(cudaErrorLaunchOutOfResources);
  if (const cudaError_t status = result(); status != cudaSuccess) return status;
  *program.begun = program.label;
  if (number == setting("fault", 0)) s.faulted[current] = true;
  if (number == setting("hidden", 0)) s.hidden = static_cast<int>(setting("heard", 1));
  return cudaSuccess;
}

// The driver's functions are asked for the device that is current.
CUresult CUDAAPI cuStreamGetCtx(CUstream stream, CUcontext* context) {
  const auto found = state().streams.find(stream);
  if (found == state().streams.end()) return CUDA_ERROR_INVALID_HANDLE;
  *context = reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(found->second + 1));
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuCtxPushCurrent(CUcontext context) {
  current = static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) {
  *device = current;
  return CUDA_SUCCESS;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult*) {
  const std::string wanted = name;
  *function = nullptr;
  if (wanted == "cuStreamGetCtx") *function = reinterpret_cast<void*>(&cuStreamGetCtx);
  if (wanted == "cuCtxPushCurrent") *function = reinterpret_cast<void*>(&cuCtxPushCurrent);
  if (wanted == "cuCtxGetDevice") *function = reinterpret_cast<void*>(&cuCtxGetDevice);
  return result();
}

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = reinterpret_cast<cublasHandle_t>(std::malloc(1));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t stream) {
  return is_here(state().streams, stream) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}
cublasStatus_t cublasGemmStridedBatchedEx_64(cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t, int64_t,
                                             int64_t, const void*, const void*, cudaDataType, int64_t, long long,
                                             const void*, cudaDataType, int64_t, long long, const void*, void*,
                                             cudaDataType, int64_t, long long, int64_t, cublasComputeType_t,
                                             cublasGemmAlgo_t) {
  return state().faulted[current] ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
