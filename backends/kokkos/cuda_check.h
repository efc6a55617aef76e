#pragma once
#include <cuda_runtime.h>

#include <mutex>
#include <string>

namespace cortado::kokkos {

/// Throws ClusterError, saying what could not be done, unless the CUDA runtime reports success.
void cuda_check(cudaError_t status, const char* what);

/// True if a device has failed so that every further call on it fails too, as after an illegal address. Kokkos aborts
/// the process when it meets that, so nothing of Kokkos may be called then, destructors included.
bool device_is_lost();

/// Adds the program's name to errors of a core group's device. Each core group has one. It makes the device the current
/// one of the group's thread.
class CudaWatch {
 public:
  /// Throws ClusterError where the device cannot be used.
  explicit CudaWatch(int device);
  ~CudaWatch();
  CudaWatch(const CudaWatch&) = delete;
  CudaWatch& operator=(const CudaWatch&) = delete;

  int device() const { return device_; }
  /// Makes the device the calling thread's. Every call of the CUDA runtime and of Kokkos for this core group comes
  /// after one of these on the same thread: Kokkos moves between devices too.
  void enter() const;
  /// Host memory that the device writes: the label of the program that began last.
  const char** begun() const { return begun_; }
  /// Throws ClusterError unless `status` is success: of a lost device with the program that began last.
  void check(cudaError_t status, const char* what) const;
  /// After `label` was put into the stream: throws ClusterError if it could not be started. With
  /// CORTADO_SYNC_LAUNCHES=1 in the environment also waits, so that what fails on the device is told of `label`.
  void launched(const char* label, cudaStream_t stream) const;

 private:
  const int device_;
  const bool waits_;
  const char** begun_ = nullptr;
};

/// While it lives Kokkos works for this thread. If it aborts, which is its answer to a device's failure, the process
/// says for which program and exits with 1 instead.
class InKokkos {
 public:
  explicit InKokkos(const char* label);
  ~InKokkos();
  InKokkos(const InKokkos&) = delete;
  InKokkos& operator=(const InKokkos&) = delete;
};

}  // namespace cortado::kokkos
