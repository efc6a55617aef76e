#include "backends/kokkos/cuda_check.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "core/base/error.h"

namespace cortado::kokkos {
namespace {
std::atomic<bool> lost{false};

std::string text_of(cudaError_t status) { return std::string(cudaGetErrorString(status)); }

/// Takes the error from the thread, so that the next launch does not report it again, and finds out whether it stays.
void take_error() {
  cudaGetLastError();
  if (cudaDeviceSynchronize() != cudaSuccess) lost = true;
  cudaGetLastError();
}

thread_local const char* kokkos_runs = nullptr;

/// Kokkos' own message has been written.
void on_abort(int) {
  if (kokkos_runs == nullptr) {
    std::signal(SIGABRT, SIG_DFL);
    std::abort();
  }
  for (const char* text :
       {"E CUDA: program ", kokkos_runs, ", or one that began before it, failed on the device: see above\n"})
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
  _exit(EXIT_FAILURE);
}

bool is_set(const char* variable) {
  const char* const text = std::getenv(variable);
  return text != nullptr && *text != '\0' && std::string(text) != "0";
}
}  // namespace

void cuda_check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  take_error();
  throw ClusterError("CUDA", std::string("cannot ") + what + ": " + text_of(status));
}

bool device_is_lost() { return lost; }

CudaWatch::CudaWatch(int device) : device_(device), waits_(is_set("CORTADO_SYNC_LAUNCHES")) {
  enter();
  void* slot = nullptr;
  check(cudaMallocHost(&slot, sizeof *begun_), "allocate page-locked memory");
  begun_ = static_cast<const char**>(slot);
  *begun_ = nullptr;
}

CudaWatch::~CudaWatch() {
  if (!device_is_lost()) cudaFreeHost(static_cast<void*>(begun_));
}

void CudaWatch::enter() const { check(cudaSetDevice(device_), "use the device"); }

void CudaWatch::check(cudaError_t status, const char* what) const {
  if (status == cudaSuccess) return;
  take_error();
  const std::string where = "CUDA device " + std::to_string(device_);
  const char* const label = begun_ != nullptr ? *const_cast<const char* const volatile*>(begun_) : nullptr;
  if (!device_is_lost() || label == nullptr)
    throw ClusterError(where, std::string("cannot ") + what + ": " + text_of(status));
  throw ClusterError(
      where, std::string("program ") + label + ", which began last, or the library after it: " + text_of(status),
      "CORTADO_SYNC_LAUNCHES=1 tells which for certain, compute-sanitizer where in it");
}

void CudaWatch::launched(const char* label, cudaStream_t stream) const {
  const auto check_launch = [&](cudaError_t status, const char* how) {
    if (status == cudaSuccess) return;
    take_error();
    throw ClusterError("CUDA device " + std::to_string(device_),
                       std::string("program ") + label + how + text_of(status));
  };
  check_launch(cudaGetLastError(), " cannot be started: ");
  if (waits_) check_launch(cudaStreamSynchronize(stream), " failed: ");
}

InKokkos::InKokkos(const char* label) {
  static const bool is_handled = std::signal(SIGABRT, on_abort) != SIG_ERR;
  static_cast<void>(is_handled);
  kokkos_runs = label;
}
InKokkos::~InKokkos() { kokkos_runs = nullptr; }

}  // namespace cortado::kokkos
