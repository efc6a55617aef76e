#include "backends/kokkos/blas.h"

#include <cblas.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <limits>
#include <vector>

#include "backends/kokkos/thin_product.h"
#include "core/base/error.h"
#include "core/base/memory_error.h"

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

  /// The name with the kernels that OpenBLAS chose: an old one may not know a new processor and choose slow ones.
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

/// OpenBLAS takes its buffers with its first product, tries for ever where the address space has no room for them, and
/// keeps them. So where there is a limit, room is looked for and they are taken before anything else.
void take_buffers(int threads) {
  rlimit limit{};
  if (openblas_get_corename == nullptr || getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  constexpr std::size_t buffer = std::size_t{128} << 20;  // of x86-64 and ARM: BUFFER_SIZE, one a thread and one more
  const std::size_t bytes = buffer * (static_cast<std::size_t>(threads) + 1);
  void* const room = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED)
    throw MemoryError("OpenBLAS",
                      "needs " + megabytes_text(static_cast<double>(bytes)) +
                          " of addresses for its buffers, and `ulimit -v` leaves less",
                      "raise ulimit -v, or take fewer threads (OMP_NUM_THREADS)");
  munmap(room, bytes);
  constexpr i64 n = 256;  // enough for all threads
  const std::vector<float> zeros(static_cast<std::size_t>(n * n));
  std::vector<float> product(zeros.size());
  MatrixLibrary::Gemm g;
  g.m = g.n = g.k = g.lda = g.ldb = g.ldy = n;
  g.beta = 0;
  omp_set_num_threads(threads);
  multiply(g, zeros.data(), zeros.data(), product.data());
}

}  // namespace

std::unique_ptr<MatrixLibrary> make_blas(const Space& space, int threads) {
  take_buffers(threads);
  return std::make_unique<Blas>(space, threads);
}

}  // namespace cortado::kokkos
