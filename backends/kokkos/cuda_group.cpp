#include "backends/kokkos/cuda_group.h"

#include "backends/kokkos/cublas.h"
#include "backends/kokkos/cuda_check.h"
#include "backends/kokkos/group_common.h"
#include "backends/kokkos/launch.h"

namespace cortado::kokkos {
namespace {

/// The runtime's handle, destroyed with the last copy of the event.
std::shared_ptr<void> make_event() {
  cudaEvent_t event = nullptr;
  cuda_check(cudaEventCreate(&event), "create an event");
  return {event, [](void* e) { cudaEventDestroy(static_cast<cudaEvent_t>(e)); }};
}

cudaEvent_t cuda_event(const std::shared_ptr<void>& handle) { return static_cast<cudaEvent_t>(handle.get()); }

/// What the current device is to one of `core_groups` core groups.
MachineSpec cuda_spec(int core_groups) {
  const cudaDeviceProp& device = Space().cuda_device_prop();
  int device_number = 0, clock_khz = 0;
  cuda_check(cudaGetDevice(&device_number), "find the device");
  cuda_check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device_number), "read the clock rate");
  constexpr int teams = 8;  // resident per multiprocessor: 2048 threads
  MachineSpec spec;
  spec.name = "cuda";
  spec.description = std::string(device.name) + ", " + std::to_string(device.multiProcessorCount) + " multiprocessors";
  spec.core_groups = core_groups;
  spec.cpes = device.multiProcessorCount * teams;
  spec.scratch_bytes = static_cast<i64>(device.sharedMemPerBlock) - CudaTeam::reserved_bytes;
  spec.host_memory = false;
  spec.simd_bytes = 128;
  spec.clock_hz = 1e3 * clock_khz;
  return spec;
}

}  // namespace

CudaGroup::CudaGroup(int index, const MachineSpec& spec, const Programs& programs)
    : index_(index), spec_(spec), programs_(programs) {
  make_stream();
  library_ = make_cublas(streams_[0]);
  failure_ = static_cast<Failure*>(allocate(sizeof(Failure)));
  const Failure none;
  copy(failure_, &none, sizeof none, {});
  cuda_check(cudaStreamSynchronize(streams_[0]), "prepare a core group");
}

CudaGroup::~CudaGroup() {
  for (cudaStream_t stream : streams_) cudaStreamSynchronize(stream);
  release(failure_);
  library_.reset();
  spaces_.clear();
  for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
}

void* CudaGroup::allocate(std::size_t bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status == cudaErrorMemoryAllocation)
    throw Error("core group " + std::to_string(index_),
                "cannot allocate " + std::to_string(bytes) + " bytes on the device", "use a smaller batch");
  cuda_check(status, "allocate memory");
  return memory;
}

void CudaGroup::release(void* memory) noexcept { cudaFree(memory); }

void* CudaGroup::allocate_staging(std::size_t bytes) {
  void* memory = nullptr;
  cuda_check(cudaMallocHost(&memory, bytes), "allocate page-locked memory");
  return memory;
}

void CudaGroup::release_staging(void* memory) noexcept { cudaFreeHost(memory); }

Stream CudaGroup::make_stream() {
  cudaStream_t stream = nullptr;
  cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create a stream");
  streams_.push_back(stream);
  spaces_.emplace_back(stream);
  return Stream{static_cast<int>(streams_.size()) - 1};
}

cudaStream_t CudaGroup::cuda_stream(Stream stream) const { return streams_.at(static_cast<std::size_t>(stream.id)); }

void CudaGroup::copy(void* to, const void* from, std::size_t bytes, Stream stream) {
  cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cuda_stream(stream)), "copy");
}

void CudaGroup::zero(void* memory, std::size_t bytes, Stream stream) {
  cuda_check(cudaMemsetAsync(memory, 0, bytes, cuda_stream(stream)), "zero memory");
}

void CudaGroup::wait() {
  for (cudaStream_t stream : streams_) cuda_check(cudaStreamSynchronize(stream), "run what was queued");
  Failure failure;
  cuda_check(cudaMemcpy(&failure, failure_, sizeof failure, cudaMemcpyDeviceToHost), "read the failure slot");
  if (failure.taken == 0) return;
  const Failure none;
  cuda_check(cudaMemcpy(failure_, &none, sizeof none, cudaMemcpyHostToDevice), "clear the failure slot");
  throw_failure(failure);
}

void CudaGroup::order(Stream earlier, Stream later) {
  const Event point = record(earlier);
  cuda_check(cudaStreamWaitEvent(cuda_stream(later), cuda_event(point.handle), 0), "order two streams");
}

CoreGroup::Event CudaGroup::record(Stream stream) {
  Event event;
  event.handle = make_event();
  cuda_check(cudaEventRecord(cuda_event(event.handle), cuda_stream(stream)), "record an event");
  return event;
}

double CudaGroup::seconds_between(const Event& from, const Event& to) {
  float milliseconds = 0;
  cuda_check(cudaEventSynchronize(cuda_event(from.handle)), "wait for an event");
  cuda_check(cudaEventSynchronize(cuda_event(to.handle)), "wait for an event");
  cuda_check(cudaEventElapsedTime(&milliseconds, cuda_event(from.handle), cuda_event(to.handle)), "compare events");
  return 1e-3 * static_cast<double>(milliseconds);
}

void CudaGroup::run_program(ProgramKey key, const char* label, const void* program, const Plan& plan, Stream stream) {
  Launch launch{spaces_.at(static_cast<std::size_t>(stream.id)), grant_of(plan, label, spec_)};
  launch.grant.scratch_bytes = plan.scratch_bytes + CudaTeam::exchange_bytes;
  launch.grant.failure = failure_;
  entry_of(programs_, key, label)(launch, program);
}

std::vector<std::unique_ptr<CoreGroup>> make_groups(int core_groups, int, const Programs& programs) {
  const MachineSpec spec = cuda_spec(core_groups);
  std::vector<std::unique_ptr<CoreGroup>> groups;
  for (int i = 0; i < core_groups; ++i) groups.push_back(std::make_unique<CudaGroup>(i, spec, programs));
  return groups;
}

}  // namespace cortado::kokkos
