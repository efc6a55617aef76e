#include "backends/kokkos/cublas.h"

#include <cublas_v2.h>

#include "core/base/error.h"

namespace cortado::kokkos {
namespace {

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw ClusterError("cuBLAS", std::string("cannot ") + what + ": " + cublasGetStatusString(status));
}

class CuBlas : public MatrixLibrary {
 public:
  explicit CuBlas(cudaStream_t stream) {
    check(cublasCreate(&handle_), "start");
    check(cublasSetStream(handle_, stream), "use a stream");
  }
  ~CuBlas() override { cublasDestroy(handle_); }

  std::string name() const override { return "cuBLAS"; }

  void gemm(const Gemm& g) override { gemm_batch(g, 1, 0, 0, 0); }

  // cuBLAS is column-major: it sees every matrix transposed, so y^T = op(b)^T op(a)^T.
  void gemm_batch(const Gemm& g, i64 count, i64 stride_a, i64 stride_b, i64 stride_y) override {
    if (g.m == 0 || g.n == 0 || count == 0) return;
    const bool empty = g.k == 0;
    const auto compute = g.operands == Precision::bf16 ? CUBLAS_COMPUTE_32F_FAST_16BF : CUBLAS_COMPUTE_32F;
    check(cublasGemmStridedBatchedEx_64(
              handle_, g.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, g.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, g.n, g.m,
              g.k, &g.alpha, g.b, CUDA_R_32F, empty ? g.n : g.ldb, stride_b, g.a, CUDA_R_32F, empty ? g.m : g.lda,
              stride_a, &g.beta, g.y, CUDA_R_32F, g.ldy, stride_y, count, compute, CUBLAS_GEMM_DEFAULT),
          "multiply matrices");
  }

 private:
  cublasHandle_t handle_ = nullptr;
};

}  // namespace

std::unique_ptr<MatrixLibrary> make_cublas(cudaStream_t stream) { return std::make_unique<CuBlas>(stream); }

}  // namespace cortado::kokkos
