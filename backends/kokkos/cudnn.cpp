#include "backends/kokkos/cudnn.h"

#include "core/base/error.h"

#if __has_include(<cudnn.h>)
#include <cudnn.h>
#include <dlfcn.h>

#include <array>
#include <utility>

namespace cortado::kokkos {
namespace {

#define CORTADO_TEXT_OF(macro) #macro
#define CORTADO_TEXT(macro) CORTADO_TEXT_OF(macro)
#define CORTADO_CUDNN_MAJOR CORTADO_TEXT(CUDNN_MAJOR)

/// The most workspace that a shape gets, in bytes: its arrays in another layout, which tensor cores want, and 512 MiB.
std::size_t most_workspace(const ConvolutionLibrary::Shape& s) {
  const i64 values = s.mb * (s.ic * s.ih * s.iw + s.oc * s.oh * s.ow);
  return (std::size_t{1} << 29) + static_cast<std::size_t>(2 * values) * sizeof(float);
}

/// True for algorithms whose error is that of plain sums, or of Winograd on 3 x 3 kernels. Transforms of Fourier and of
/// larger tiles lose more digits.
bool keeps_digits(cudnnConvolutionFwdAlgo_t algorithm, bool is_3x3) {
  return algorithm <= CUDNN_CONVOLUTION_FWD_ALGO_DIRECT || (is_3x3 && algorithm >= CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD);
}
bool keeps_digits(cudnnConvolutionBwdFilterAlgo_t algorithm, bool is_3x3) {
  return algorithm <= CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 || algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3 ||
         (is_3x3 && algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED);
}
bool keeps_digits(cudnnConvolutionBwdDataAlgo_t algorithm, bool is_3x3) {
  return algorithm <= CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 ||
         (is_3x3 && algorithm >= CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD);
}

/// What is used of the library, by its own names.
struct Functions {
// clang-format off
#define CORTADO_CUDNN(USE) \
  USE(GetVersion) USE(GetErrorString) USE(Create) USE(Destroy) USE(SetStream) USE(CreateTensorDescriptor) \
  USE(DestroyTensorDescriptor) USE(SetTensor4dDescriptor) USE(CreateFilterDescriptor) \
  USE(DestroyFilterDescriptor) USE(SetFilter4dDescriptor) USE(CreateConvolutionDescriptor) \
  USE(DestroyConvolutionDescriptor) USE(SetConvolution2dDescriptor) USE(SetConvolutionGroupCount) \
  USE(SetConvolutionMathType) USE(GetConvolutionForwardAlgorithm_v7) \
  USE(GetConvolutionBackwardFilterAlgorithm_v7) USE(GetConvolutionBackwardDataAlgorithm_v7) \
  USE(GetConvolutionForwardWorkspaceSize) USE(GetConvolutionBackwardFilterWorkspaceSize) \
  USE(GetConvolutionBackwardDataWorkspaceSize) USE(ConvolutionForward) USE(ConvolutionBackwardFilter) \
  USE(ConvolutionBackwardData)
// clang-format on
#define CORTADO_DECLARE(name) decltype(&::cudnn##name) name = nullptr;
  CORTADO_CUDNN(CORTADO_DECLARE)
#undef CORTADO_DECLARE
  std::string why;  ///< they are not there; empty: they are

  Functions() {
    void* library = nullptr;
    for (const char* file : {"libcudnn.so." CORTADO_CUDNN_MAJOR, "libcudnn.so"})
      if (library == nullptr) library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      why = "cuDNN " CORTADO_CUDNN_MAJOR " is not found";
      return;
    }
#define CORTADO_LOAD(name)                                                \
  name = reinterpret_cast<decltype(name)>(dlsym(library, "cudnn" #name)); \
  if (name == nullptr) why = "cuDNN has no function cudnn" #name;
    CORTADO_CUDNN(CORTADO_LOAD)
#undef CORTADO_LOAD
#undef CORTADO_CUDNN
    if (why.empty() && GetVersion() / 10000 != CUDNN_MAJOR)
      why = "cuDNN is of version " + std::to_string(GetVersion()) + ", this build knows " CORTADO_CUDNN_MAJOR;
  }

  static const Functions& here() {
    static const Functions functions;
    return functions;
  }
};

std::string version_text(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

/// A descriptor or handle, released by the function given.
template <class T>
class Owned {
 public:
  Owned(cudnnStatus_t (*make)(T*), cudnnStatus_t (*release)(T)) : release_(release), status_(make(&it_)) {}
  ~Owned() {
    if (status_ == CUDNN_STATUS_SUCCESS && !device_is_lost()) release_(it_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  T get() const { return it_; }
  cudnnStatus_t status() const { return status_; }

 private:
  cudnnStatus_t (*release_)(T);
  T it_ = nullptr;
  cudnnStatus_t status_;
};

/// What the library is told about one shape.
struct Described {
  const Functions& f;
  Owned<cudnnTensorDescriptor_t> x{f.CreateTensorDescriptor, f.DestroyTensorDescriptor};
  Owned<cudnnTensorDescriptor_t> y{f.CreateTensorDescriptor, f.DestroyTensorDescriptor};
  Owned<cudnnFilterDescriptor_t> w{f.CreateFilterDescriptor, f.DestroyFilterDescriptor};
  Owned<cudnnConvolutionDescriptor_t> convolution{f.CreateConvolutionDescriptor, f.DestroyConvolutionDescriptor};

  explicit Described(const Functions& functions) : f(functions) {}

  ConvolutionLibrary::Shape shape{};

  cudnnStatus_t describe(const ConvolutionLibrary::Shape& s) {
    shape = s;
    const auto n = [](i64 value) { return static_cast<int>(value); };
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    const auto then = [&](cudnnStatus_t next) {
      if (status == CUDNN_STATUS_SUCCESS) status = next;
    };
    then(x.status()), then(y.status()), then(w.status()), then(convolution.status());
    if (status != CUDNN_STATUS_SUCCESS) return status;
    constexpr auto floats = CUDNN_DATA_FLOAT;
    then(f.SetTensor4dDescriptor(x.get(), CUDNN_TENSOR_NCHW, floats, n(s.mb), n(s.ic), n(s.ih), n(s.iw)));
    then(f.SetTensor4dDescriptor(y.get(), CUDNN_TENSOR_NCHW, floats, n(s.mb), n(s.oc), n(s.oh), n(s.ow)));
    then(f.SetFilter4dDescriptor(w.get(), floats, CUDNN_TENSOR_NCHW, n(s.oc), n(s.ic / s.g), n(s.kh), n(s.kw)));
    then(f.SetConvolution2dDescriptor(convolution.get(), n(s.ph), n(s.pw), n(s.sh), n(s.sw), n(s.dh), n(s.dw),
                                      CUDNN_CROSS_CORRELATION, floats));
    then(f.SetConvolutionGroupCount(convolution.get(), n(s.g)));
    return status;
  }
};

/// Of the algorithms that the library proposes, quickest first by its reckoning, the first that repeats its bits, keeps
/// digits, fits and multiplies as wanted. `size` asks for an algorithm's workspace with the multiplication that it
/// proposes.
template <class Proposals, class Size>
bool choose(const Described& d, const Proposals& proposals, int count, bool tf32, const Size& size,
            typename Proposals::value_type& chosen) {
  for (int i = 0; i < count; ++i) {
    auto proposal = proposals[static_cast<std::size_t>(i)];
    if (proposal.status != CUDNN_STATUS_SUCCESS || proposal.determinism != CUDNN_DETERMINISTIC) continue;
    if (!keeps_digits(proposal.algo, d.shape.kh == 3 && d.shape.kw == 3)) continue;
    if (!tf32) proposal.mathType = CUDNN_FMA_MATH;
    if (d.f.SetConvolutionMathType(d.convolution.get(), proposal.mathType) != CUDNN_STATUS_SUCCESS) continue;
    if (size(proposal.algo, &proposal.memory) != CUDNN_STATUS_SUCCESS || proposal.memory > most_workspace(d.shape))
      continue;
    chosen = proposal;
    return true;
  }
  return false;
}

class CuDnn : public ConvolutionLibrary {
 public:
  CuDnn(cudaStream_t stream, const CudaWatch& watch, bool tf32)
      : stream_(stream), watch_(watch), tf32_(tf32), handle_(f_.Create, f_.Destroy) {
    if (status() == CUDNN_STATUS_SUCCESS) check(f_.SetStream(handle_.get(), stream), "use a stream");
  }
  /// How it started.
  cudnnStatus_t status() const { return handle_.status(); }

  std::string name() const override { return "cuDNN " + version_text(f_.GetVersion()); }

  std::unique_ptr<Convolution> prepare(const Shape& shape, Product product, std::string& why) override {
    watch_.enter();
    auto d = std::make_unique<Described>(f_);
    const cudnnStatus_t status = d->describe(shape);
    if (status != CUDNN_STATUS_SUCCESS) {
      why = name() + " takes no such shape: " + f_.GetErrorString(status);
      return nullptr;
    }
    f_.SetConvolutionMathType(d->convolution.get(), tf32_ ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH);
    std::unique_ptr<Convolution> made;
    switch (product) {
      case Product::forward: made = forward(std::move(d)); break;
      case Product::weight_gradient: made = weight_gradient(std::move(d)); break;
      case Product::input_gradient: made = input_gradient(std::move(d)); break;
    }
    if (made == nullptr) why = name() + " has no algorithm that repeats its bits for the shape";
    return made;
  }

 private:
  /// `call` queues the product: (alpha, x_or_dy, w_or_dy, workspace, bytes, beta, result).
  template <class Call>
  class Prepared : public Convolution {
   public:
    Prepared(const CuDnn& library, std::unique_ptr<Described> described, std::size_t bytes, int algorithm,
             cudnnMathType_t math, const char* label, Call call)
        : library_(library),
          described_(std::move(described)),
          bytes_(bytes),
          algorithm_(algorithm),
          math_(math),
          label_(label),
          call_(call) {}
    i64 workspace_bytes() const override { return static_cast<i64>(bytes_); }
    std::string algorithm() const override {
      return std::to_string(algorithm_) + (math_ == CUDNN_FMA_MATH ? " in FP32" : " in TF32");
    }
    void run(const float* x_or_dy, const float* w_or_dy, float* result, bool adds, void* workspace) override {
      const float one = 1, kept = adds ? 1.0f : 0.0f;
      library_.watch_.enter();
      library_.check(call_(*described_, &one, x_or_dy, w_or_dy, workspace, bytes_, &kept, result), label_);
      library_.watch_.launched(label_, library_.stream_);
    }

   private:
    const CuDnn& library_;
    const std::unique_ptr<Described> described_;
    const std::size_t bytes_;
    const int algorithm_;
    const cudnnMathType_t math_;
    const char* const label_;
    const Call call_;
  };
  template <class Choice, class Call>
  std::unique_ptr<Convolution> prepared(std::unique_ptr<Described> d, const Choice& chosen, const char* label,
                                        Call call) const {
    return std::make_unique<Prepared<Call>>(*this, std::move(d), chosen.memory, static_cast<int>(chosen.algo),
                                            chosen.mathType, label, call);
  }

  std::unique_ptr<Convolution> forward(std::unique_ptr<Described> d) const {
    std::array<cudnnConvolutionFwdAlgoPerf_t, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> proposals{};
    cudnnConvolutionFwdAlgoPerf_t chosen{};
    int count = 0;
    const cudnnHandle_t h = handle_.get();
    if (f_.GetConvolutionForwardAlgorithm_v7(h, d->x.get(), d->w.get(), d->convolution.get(), d->y.get(),
                                             static_cast<int>(proposals.size()), &count,
                                             proposals.data()) != CUDNN_STATUS_SUCCESS)
      return nullptr;
    const auto size = [&](auto algorithm, std::size_t* bytes) {
      return f_.GetConvolutionForwardWorkspaceSize(h, d->x.get(), d->w.get(), d->convolution.get(), d->y.get(),
                                                   algorithm, bytes);
    };
    if (!choose(*d, proposals, count, tf32_, size, chosen)) return nullptr;
    return prepared(std::move(d), chosen, "cuDNN forward",
                    [h, chosen](const Described& on, const float* one, const float* x, const float* w, void* space,
                                std::size_t bytes, const float* kept, float* y) {
                      return on.f.ConvolutionForward(h, one, on.x.get(), x, on.w.get(), w, on.convolution.get(),
                                                     chosen.algo, space, bytes, kept, on.y.get(), y);
                    });
  }

  std::unique_ptr<Convolution> weight_gradient(std::unique_ptr<Described> d) const {
    std::array<cudnnConvolutionBwdFilterAlgoPerf_t, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT> proposals{};
    cudnnConvolutionBwdFilterAlgoPerf_t chosen{};
    int count = 0;
    const cudnnHandle_t h = handle_.get();
    if (f_.GetConvolutionBackwardFilterAlgorithm_v7(h, d->x.get(), d->y.get(), d->convolution.get(), d->w.get(),
                                                    static_cast<int>(proposals.size()), &count,
                                                    proposals.data()) != CUDNN_STATUS_SUCCESS)
      return nullptr;
    const auto size = [&](auto algorithm, std::size_t* bytes) {
      return f_.GetConvolutionBackwardFilterWorkspaceSize(h, d->x.get(), d->y.get(), d->convolution.get(), d->w.get(),
                                                          algorithm, bytes);
    };
    if (!choose(*d, proposals, count, tf32_, size, chosen)) return nullptr;
    return prepared(std::move(d), chosen, "cuDNN weight gradient",
                    [h, chosen](const Described& on, const float* one, const float* x, const float* dy, void* space,
                                std::size_t bytes, const float* kept, float* dw) {
                      return on.f.ConvolutionBackwardFilter(h, one, on.x.get(), x, on.y.get(), dy, on.convolution.get(),
                                                            chosen.algo, space, bytes, kept, on.w.get(), dw);
                    });
  }

  std::unique_ptr<Convolution> input_gradient(std::unique_ptr<Described> d) const {
    std::array<cudnnConvolutionBwdDataAlgoPerf_t, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT> proposals{};
    cudnnConvolutionBwdDataAlgoPerf_t chosen{};
    int count = 0;
    const cudnnHandle_t h = handle_.get();
    if (f_.GetConvolutionBackwardDataAlgorithm_v7(h, d->w.get(), d->y.get(), d->convolution.get(), d->x.get(),
                                                  static_cast<int>(proposals.size()), &count,
                                                  proposals.data()) != CUDNN_STATUS_SUCCESS)
      return nullptr;
    const auto size = [&](auto algorithm, std::size_t* bytes) {
      return f_.GetConvolutionBackwardDataWorkspaceSize(h, d->w.get(), d->y.get(), d->convolution.get(), d->x.get(),
                                                        algorithm, bytes);
    };
    if (!choose(*d, proposals, count, tf32_, size, chosen)) return nullptr;
    return prepared(std::move(d), chosen, "cuDNN input gradient",
                    [h, chosen](const Described& on, const float* one, const float* dy, const float* w, void* space,
                                std::size_t bytes, const float* kept, float* dx) {
                      return on.f.ConvolutionBackwardData(h, one, on.w.get(), w, on.y.get(), dy, on.convolution.get(),
                                                          chosen.algo, space, bytes, kept, on.x.get(), dx);
                    });
  }

  /// A device's failure goes before what the library makes of it.
  void check(cudnnStatus_t status, const char* what) const {
    if (status == CUDNN_STATUS_SUCCESS) return;
    watch_.check(cudaDeviceSynchronize(), what);
    throw ClusterError("cuDNN", std::string("cannot do ") + what + ": " + f_.GetErrorString(status));
  }

  const Functions& f_ = Functions::here();
  const cudaStream_t stream_;
  const CudaWatch& watch_;
  const bool tf32_;
  const Owned<cudnnHandle_t> handle_;
};

}  // namespace

std::unique_ptr<ConvolutionLibrary> make_cudnn(cudaStream_t stream, const CudaWatch& watch, bool tf32,
                                               std::string& why) {
  why = Functions::here().why;
  if (!why.empty()) return nullptr;
  watch.enter();
  auto library = std::make_unique<CuDnn>(stream, watch, tf32);
  if (library->status() == CUDNN_STATUS_SUCCESS) return library;
  why = "cuDNN cannot start: " + std::string(Functions::here().GetErrorString(library->status()));
  return nullptr;
}

std::string cudnn_version() {
  const Functions& functions = Functions::here();
  return functions.why.empty() ? version_text(functions.GetVersion()) : functions.why;
}

}  // namespace cortado::kokkos

#else

namespace cortado::kokkos {

std::unique_ptr<ConvolutionLibrary> make_cudnn(cudaStream_t, const CudaWatch&, bool, std::string& why) {
  why = cudnn_version();
  return nullptr;
}

std::string cudnn_version() { return "this build does not know cuDNN: its headers were not there"; }

}  // namespace cortado::kokkos

#endif
