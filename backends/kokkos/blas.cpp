#include "backends/kokkos/blas.h"

#include <cblas.h>
#include <omp.h>

#include <limits>

#include "backends/kokkos/thin_product.h"
#include "core/base/error.h"

// OpenBLAS only; null with any other library.
extern "C" char* openblas_get_corename() __attribute__((weak));

namespace cortado::kokkos {
namespace {

int narrow(i64 size) {
  if (size > std::numeric_limits<int>::max())
    throw ShapeError("", "a matrix of " + std::to_string(size) + " rows, columns or pitch is more than BLAS can count");
  return static_cast<int>(size);
}

void multiply(const MatrixLibrary::Gemm& g, const float* a, const float* b, float* y) {
  if (g.m == 0 || g.n == 0) return;
  // BLAS checks the pitches of empty operands too.
  const bool empty = g.k == 0;
  cblas_sgemm(CblasRowMajor, g.transpose_a ? CblasTrans : CblasNoTrans, g.transpose_b ? CblasTrans : CblasNoTrans,
              narrow(g.m), narrow(g.n), narrow(g.k), g.alpha, a, narrow(empty ? g.m : g.lda), b,
              narrow(empty ? g.n : g.ldb), g.beta, y, narrow(g.ldy));
}

class Blas : public MatrixLibrary {
 public:
  Blas(const Space& space, int threads) : space_(space), threads_(threads) {}

  /// With the kernels that OpenBLAS chose: an old one may not know a new processor and choose slow ones.
  std::string name() const override {
    if (openblas_get_corename == nullptr) return CORTADO_BLAS_NAME;
    return std::string(CORTADO_BLAS_NAME) + " (" + openblas_get_corename() + " kernels)";
  }

  void gemm(const Gemm& g) override {
    if (is_thin(g)) {
      const int threads = threads_;
      return in_parallel("thin_product", [=](int worker) { multiply_thin(g, worker, threads); });
    }
    omp_set_num_threads(threads_);  // of the calling thread: core groups have threads of their own
    multiply(g, g.a, g.b, g.y);
  }

  void gemm_batch(const Gemm& g, i64 count, i64 stride_a, i64 stride_b, i64 stride_y) override {
    const auto product = [=](i64 i) { multiply(g, g.a + i * stride_a, g.b + i * stride_b, g.y + i * stride_y); };
    if (count < threads_ || threads_ == 1) {
      omp_set_num_threads(threads_);
      for (i64 i = 0; i < count; ++i) product(i);
      return;
    }
    // Inside a parallel region a BLAS uses one thread.
    const int threads = threads_;
    in_parallel("gemm_batch", [=](int worker) {
      for (i64 i = count * worker / threads; i < count * (worker + 1) / threads; ++i) product(i);
    });
  }

 private:
  /// work(0) to work(threads - 1), each on a thread of its own.
  template <class Work>
  void in_parallel(const char* label, Work work) {
    Kokkos::parallel_for(label, Kokkos::RangePolicy<Space>(space_, 0, threads_, Kokkos::ChunkSize(1)), work);
  }

  const Space space_;
  const int threads_;
};

}  // namespace

std::unique_ptr<MatrixLibrary> make_blas(const Space& space, int threads) {
  return std::make_unique<Blas>(space, threads);
}

}  // namespace cortado::kokkos
