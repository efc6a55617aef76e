#include "backends/kokkos/cuda_group.h"

#include <cstddef>
#include <mutex>

#include "backends/kokkos/cublas.h"
#include "backends/kokkos/cuda_devices.h"
#include "backends/kokkos/cudnn.h"
#include "backends/kokkos/group_common.h"
#include "backends/kokkos/launch.h"
#include "core/base/error.h"
#include "core/base/memory_error.h"

namespace cortado::kokkos {
namespace {

/// Kokkos keeps tables of kernels and devices that two threads must not fill at the same time.
std::mutex& kokkos_tables() {
  static std::mutex mutex;
  return mutex;
}

/// The runtime's handle, destroyed with the last copy of the event.
std::shared_ptr<void> make_event(const CudaWatch& watch) {
  cudaEvent_t event = nullptr;
  watch.check(cudaEventCreate(&event), "create an event");
  return {event, [](void* e) { cudaEventDestroy(static_cast<cudaEvent_t>(e)); }};
}

cudaEvent_t cuda_event(const std::shared_ptr<void>& handle) { return static_cast<cudaEvent_t>(handle.get()); }

}  // namespace

static_assert(offsetof(Grant, failure) == 32 && sizeof(CudaFailure) == 32,
              "tests/backends/kokkos/stand_in_cuda.cpp finds labels by these");

CudaGroup::Queue::Queue(const CudaWatch& device) : watch(device) {
  watch.check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create a stream");
  const std::lock_guard<std::mutex> lock(kokkos_tables());
  space = new Space(stream);
}

CudaGroup::Queue::~Queue() {
  if (device_is_lost()) return;
  {
    const std::lock_guard<std::mutex> lock(kokkos_tables());
    delete space;
  }
  cudaStreamDestroy(stream);
}

CudaGroup::CudaGroup(int index, int device, const MachineSpec& spec, std::optional<Tf32> tf32, const Programs& programs)
    : index_(index), watch_(device), spec_(spec), programs_(programs) {
  make_stream();
  if (tf32) {
    library_ = make_cublas(cuda_stream({}), watch_, spec_.tf32 && *tf32 == Tf32::all);
    convolutions_ = make_cudnn(cuda_stream({}), watch_, spec_.tf32, why_no_convolutions_);
  }
  failure_ = static_cast<CudaFailure*>(allocate(sizeof(CudaFailure)));
  const CudaFailure none{{}, watch_.begun()};
  copy(failure_, &none, sizeof none, {});
  watch_.check(cudaStreamSynchronize(cuda_stream({})), "prepare a core group");
}

CudaGroup::~CudaGroup() {
  if (device_is_lost()) return;
  cudaSetDevice(watch_.device());
  for (const auto& each : queues_) cudaStreamSynchronize(each->stream);
  release(failure_);
}

void* CudaGroup::allocate(std::size_t bytes) {
  watch_.enter();
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    const auto text = [](std::size_t count) { return megabytes_text(static_cast<double>(count)); };
    throw MemoryError("core group " + std::to_string(index_),
                      "cannot allocate " + text(bytes) + " on device " + std::to_string(watch_.device()) +
                          ", which has " + text(free) + " of " + text(total) + " free",
                      "use a smaller batch, or a device that nobody else uses");
  }
  watch_.check(status, "allocate memory");
  return memory;
}

void CudaGroup::release(void* memory) noexcept {
  if (!device_is_lost() && cudaFree(memory) != cudaSuccess) cudaGetLastError();  // else a later launch would report it
}

void* CudaGroup::allocate_staging(std::size_t bytes) {
  watch_.enter();
  void* memory = nullptr;
  watch_.check(cudaMallocHost(&memory, bytes), "allocate page-locked memory");
  return memory;
}

void CudaGroup::release_staging(void* memory) noexcept {
  if (!device_is_lost() && cudaFreeHost(memory) != cudaSuccess) cudaGetLastError();
}

Stream CudaGroup::make_stream() {
  watch_.enter();
  queues_.push_back(std::make_unique<Queue>(watch_));
  return Stream{static_cast<int>(queues_.size()) - 1};
}

void CudaGroup::copy(void* to, const void* from, std::size_t bytes, Stream stream) {
  watch_.enter();
  watch_.check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cuda_stream(stream)), "copy");
}

void CudaGroup::zero(void* memory, std::size_t bytes, Stream stream) {
  watch_.enter();
  watch_.check(cudaMemsetAsync(memory, 0, bytes, cuda_stream(stream)), "zero memory");
}

void CudaGroup::wait() {
  watch_.enter();
  for (const auto& each : queues_) watch_.check(cudaStreamSynchronize(each->stream), "run what was queued");
  Failure failure;
  watch_.check(cudaMemcpy(&failure, &failure_->failure, sizeof failure, cudaMemcpyDeviceToHost),
               "read the failure slot");
  if (failure.taken == 0) return;
  const Failure none;
  watch_.check(cudaMemcpy(&failure_->failure, &none, sizeof none, cudaMemcpyHostToDevice), "clear the failure slot");
  throw_failure(failure);
}

void CudaGroup::order(Stream earlier, Stream later) {
  const Event point = record(earlier);
  watch_.check(cudaStreamWaitEvent(cuda_stream(later), cuda_event(point.handle), 0), "order two streams");
}

CoreGroup::Event CudaGroup::record(Stream stream) {
  watch_.enter();
  Event event;
  event.handle = make_event(watch_);
  watch_.check(cudaEventRecord(cuda_event(event.handle), cuda_stream(stream)), "record an event");
  return event;
}

double CudaGroup::seconds_between(const Event& from, const Event& to) {
  watch_.enter();
  float milliseconds = 0;
  watch_.check(cudaEventSynchronize(cuda_event(from.handle)), "wait for an event");
  watch_.check(cudaEventSynchronize(cuda_event(to.handle)), "wait for an event");
  watch_.check(cudaEventElapsedTime(&milliseconds, cuda_event(from.handle), cuda_event(to.handle)), "compare events");
  return 1e-3 * static_cast<double>(milliseconds);
}

void CudaGroup::run_program(ProgramKey key, const char* label, const void* program, const Plan& plan, Stream stream) {
  const Queue& into = queue(stream);
  Launch launch{*into.space, grant_of(plan, label, spec_)};
  launch.grant.scratch_bytes = plan.scratch_bytes + CudaTeam::exchange_bytes;
  launch.grant.failure = &failure_->failure;
  const Entry entry = entry_of(programs_, key, label);
  watch_.enter();
  try {
    const std::lock_guard<std::mutex> lock(kokkos_tables());
    const InKokkos guard(label);
    entry(launch, program);
  } catch (const std::exception& of_kokkos) {
    watch_.check(cudaDeviceSynchronize(), "run what was queued");
    throw ClusterError(std::string("program ") + label, of_kokkos.what());
  }
  watch_.launched(label, into.stream);
}

std::vector<std::unique_ptr<CoreGroup>> make_groups(const std::vector<int>& devices, int, Tf32 tf32,
                                                    const Programs& programs) {
  std::vector<std::unique_ptr<CoreGroup>> groups;
  let_devices_reach_each_other(devices);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const MachineSpec spec = spec_of_device(devices[i], static_cast<int>(devices.size()), tf32);
    groups.push_back(std::make_unique<CudaGroup>(static_cast<int>(i), devices[i], spec, tf32, programs));
  }
  return groups;
}

}  // namespace cortado::kokkos
