// The driver's functions that Kokkos calls, found when they are called. The program then needs no libcuda.so.1 to
// start, and can say on a machine without a driver what it lacks.
#include <cuda.h>
#include <cuda_runtime.h>

namespace {

/// The driver's function of that name as CUDA `version` knew it; null where there is no such driver.
template <class Function>
Function* found(const char* name, unsigned version) {
  void* address = nullptr;
#if CUDART_VERSION >= 12050
  cudaDriverEntryPointQueryResult result{};
  cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &result);
#else
  static_cast<void>(version);
  cudaGetDriverEntryPoint(name, &address, cudaEnableDefault);
#endif
  return reinterpret_cast<Function*>(address);
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuStreamGetCtx(CUstream stream, CUcontext* context) {
  static auto* const function = found<decltype(cuStreamGetCtx)>("cuStreamGetCtx", 9020);
  return function != nullptr ? function(stream, context) : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext context) {
  static auto* const function = found<decltype(cuCtxPushCurrent)>("cuCtxPushCurrent", 4000);
  return function != nullptr ? function(context) : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) {
  static auto* const function = found<decltype(cuCtxGetDevice)>("cuCtxGetDevice", 2000);
  return function != nullptr ? function(device) : CUDA_ERROR_NOT_INITIALIZED;
}

}  // extern "C"
