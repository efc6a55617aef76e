#include "backends/kokkos/cublas.h"

#include <cublas_v2.h>

#include "core/base/error.h"

namespace cortado::kokkos {
namespace {

class CuBlas : public MatrixLibrary {
 public:
  CuBlas(cudaStream_t stream, const CudaWatch& watch, bool tf32)
      : stream_(stream), watch_(watch), of_floats_(tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F) {
    watch_.enter();
    check(cublasCreate(&handle_), "start");
    check(cublasSetStream(handle_, stream), "use a stream");
  }
  ~CuBlas() override {
    if (!device_is_lost()) cublasDestroy(handle_);
  }

  std::string name() const override { return "cuBLAS"; }

  void gemm(const Gemm& g) override { gemm_batch(g, 1, 0, 0, 0); }

  // cuBLAS is column-major: it sees every matrix transposed, so y^T = op(b)^T op(a)^T.
  void gemm_batch(const Gemm& g, i64 count, i64 stride_a, i64 stride_b, i64 stride_y) override {
    if (g.m == 0 || g.n == 0 || count == 0) return;
    watch_.enter();
    const bool empty = g.k == 0;
    const auto compute = g.operands == Precision::bf16 ? CUBLAS_COMPUTE_32F_FAST_16BF : of_floats_;
    check(cublasGemmStridedBatchedEx_64(
              handle_, g.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, g.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, g.n, g.m,
              g.k, &g.alpha, g.b, CUDA_R_32F, empty ? g.n : g.ldb, stride_b, g.a, CUDA_R_32F, empty ? g.m : g.lda,
              stride_a, &g.beta, g.y, CUDA_R_32F, g.ldy, stride_y, count, compute, CUBLAS_GEMM_DEFAULT),
          "multiply matrices");
    watch_.launched("cuBLAS gemm", stream_);
  }

 private:
  /// A device's failure goes before what the library makes of it.
  void check(cublasStatus_t status, const char* what) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    watch_.check(cudaDeviceSynchronize(), what);
    if (status == CUBLAS_STATUS_ALLOC_FAILED)
      throw Error("cuBLAS",
                  std::string("cannot ") + what + ": no memory left on device " + std::to_string(watch_.device()),
                  "use a smaller batch, or a device that nobody else uses");
    throw ClusterError("cuBLAS", std::string("cannot ") + what + ": " + cublasGetStatusString(status));
  }

  const cudaStream_t stream_;
  const CudaWatch& watch_;
  const cublasComputeType_t of_floats_;
  cublasHandle_t handle_ = nullptr;
};

}  // namespace

std::unique_ptr<MatrixLibrary> make_cublas(cudaStream_t stream, const CudaWatch& watch, bool tf32) {
  return std::make_unique<CuBlas>(stream, watch, tf32);
}

std::string cublas_version() {
  int parts[3] = {};
  constexpr libraryPropertyType kinds[] = {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
  for (int i = 0; i < 3; ++i)
    if (cublasGetProperty(kinds[i], &parts[i]) != CUBLAS_STATUS_SUCCESS) return "not known";
  return std::to_string(parts[0]) + "." + std::to_string(parts[1]) + "." + std::to_string(parts[2]);
}

}  // namespace cortado::kokkos
