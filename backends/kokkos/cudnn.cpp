#include "backends/kokkos/cudnn.h"

#include "core/base/error.h"

#if __has_include(<cudnn.h>)
#include <cudnn.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

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

/// True for algorithms with the error of plain sums. Transforms of Fourier lose more digits.
bool is_plain(cudnnConvolutionFwdAlgo_t algorithm) { return algorithm <= CUDNN_CONVOLUTION_FWD_ALGO_DIRECT; }
bool is_plain(cudnnConvolutionBwdFilterAlgo_t algorithm) {
  return algorithm <= CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 || algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3;
}
bool is_plain(cudnnConvolutionBwdDataAlgo_t algorithm) { return algorithm <= CUDNN_CONVOLUTION_BWD_DATA_ALGO_1; }

/// True for Winograd's in three steps, which is the faster one.
bool is_winograd(cudnnConvolutionFwdAlgo_t algorithm) {
  return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED;
}
bool is_winograd(cudnnConvolutionBwdFilterAlgo_t algorithm) {
  return algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED;
}
bool is_winograd(cudnnConvolutionBwdDataAlgo_t algorithm) {
  return algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED;
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

using Product = ConvolutionLibrary::Product;

/// The library's names for what each product needs: `propose` gives algorithms, quickest first by the library's
/// reckoning; `size` asks for an algorithm's workspace; `run` queues result = product + kept * result.
template <Product product>
struct Calls;

template <>
struct Calls<Product::forward> {
  using Proposal = cudnnConvolutionFwdAlgoPerf_t;
  static constexpr int most = CUDNN_CONVOLUTION_FWD_ALGO_COUNT;
  static constexpr const char* label = "cuDNN forward";
  static cudnnStatus_t propose(cudnnHandle_t h, const Described& d, int* count, Proposal* proposals) {
    return d.f.GetConvolutionForwardAlgorithm_v7(h, d.x.get(), d.w.get(), d.convolution.get(), d.y.get(), most, count,
                                                 proposals);
  }
  static cudnnStatus_t size(cudnnHandle_t h, const Described& d, const Proposal& by, std::size_t* bytes) {
    return d.f.GetConvolutionForwardWorkspaceSize(h, d.x.get(), d.w.get(), d.convolution.get(), d.y.get(), by.algo,
                                                  bytes);
  }
  static cudnnStatus_t run(cudnnHandle_t h, const Described& d, const Proposal& by, const float* x, const float* w,
                           void* space, float kept, float* y) {
    const float one = 1;
    return d.f.ConvolutionForward(h, &one, d.x.get(), x, d.w.get(), w, d.convolution.get(), by.algo, space, by.memory,
                                  &kept, d.y.get(), y);
  }
};

template <>
struct Calls<Product::weight_gradient> {
  using Proposal = cudnnConvolutionBwdFilterAlgoPerf_t;
  static constexpr int most = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT;
  static constexpr const char* label = "cuDNN weight gradient";
  static cudnnStatus_t propose(cudnnHandle_t h, const Described& d, int* count, Proposal* proposals) {
    return d.f.GetConvolutionBackwardFilterAlgorithm_v7(h, d.x.get(), d.y.get(), d.convolution.get(), d.w.get(), most,
                                                        count, proposals);
  }
  static cudnnStatus_t size(cudnnHandle_t h, const Described& d, const Proposal& by, std::size_t* bytes) {
    return d.f.GetConvolutionBackwardFilterWorkspaceSize(h, d.x.get(), d.y.get(), d.convolution.get(), d.w.get(),
                                                         by.algo, bytes);
  }
  static cudnnStatus_t run(cudnnHandle_t h, const Described& d, const Proposal& by, const float* x, const float* dy,
                           void* space, float kept, float* dw) {
    const float one = 1;
    return d.f.ConvolutionBackwardFilter(h, &one, d.x.get(), x, d.y.get(), dy, d.convolution.get(), by.algo, space,
                                         by.memory, &kept, d.w.get(), dw);
  }
};

template <>
struct Calls<Product::input_gradient> {
  using Proposal = cudnnConvolutionBwdDataAlgoPerf_t;
  static constexpr int most = CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT;
  static constexpr const char* label = "cuDNN input gradient";
  static cudnnStatus_t propose(cudnnHandle_t h, const Described& d, int* count, Proposal* proposals) {
    return d.f.GetConvolutionBackwardDataAlgorithm_v7(h, d.w.get(), d.y.get(), d.convolution.get(), d.x.get(), most,
                                                      count, proposals);
  }
  static cudnnStatus_t size(cudnnHandle_t h, const Described& d, const Proposal& by, std::size_t* bytes) {
    return d.f.GetConvolutionBackwardDataWorkspaceSize(h, d.w.get(), d.y.get(), d.convolution.get(), d.x.get(), by.algo,
                                                       bytes);
  }
  static cudnnStatus_t run(cudnnHandle_t h, const Described& d, const Proposal& by, const float* dy, const float* w,
                           void* space, float kept, float* dx) {
    const float one = 1;
    return d.f.ConvolutionBackwardData(h, &one, d.w.get(), w, d.y.get(), dy, d.convolution.get(), by.algo, space,
                                       by.memory, &kept, d.x.get(), dx);
  }
};

class CuDnn : public ConvolutionLibrary {
 public:
  CuDnn(cudaStream_t stream, const CudaWatch& watch, bool tf32)
      : stream_(stream), watch_(watch), tf32_(tf32), handle_(f_.Create, f_.Destroy) {
    if (status() == CUDNN_STATUS_SUCCESS) check(f_.SetStream(handle_.get(), stream), "use a stream");
  }
  /// How it started.
  cudnnStatus_t status() const { return handle_.status(); }

  std::string name() const override { return "cuDNN " + version_text(f_.GetVersion()); }

  std::unique_ptr<Convolution> prepare(const Shape& shape, Product product, Method method, int quicker,
                                       std::string& why) override {
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
      case Product::forward: made = prepared<Product::forward>(std::move(d), method, quicker); break;
      case Product::weight_gradient: made = prepared<Product::weight_gradient>(std::move(d), method, quicker); break;
      case Product::input_gradient: made = prepared<Product::input_gradient>(std::move(d), method, quicker); break;
    }
    if (made == nullptr)
      why = name() + (quicker == 0 ? " has no algorithm" : " has no other algorithm") +
            " that repeats its bits for the shape";
    return made;
  }

 private:
  template <Product product>
  class Prepared : public Convolution {
   public:
    using On = Calls<product>;
    Prepared(const CuDnn& library, std::unique_ptr<Described> described, const typename On::Proposal& by)
        : library_(library), described_(std::move(described)), by_(by) {}
    i64 workspace_bytes() const override { return static_cast<i64>(by_.memory); }
    std::string algorithm() const override {
      return std::to_string(by_.algo) + (by_.mathType == CUDNN_FMA_MATH ? " in FP32" : " in TF32");
    }
    void run(const float* x_or_dy, const float* w_or_dy, float* result, bool adds, void* workspace) override {
      library_.watch_.enter();
      library_.check(
          On::run(library_.handle_.get(), *described_, by_, x_or_dy, w_or_dy, workspace, adds ? 1.0f : 0.0f, result),
          On::label);
      library_.watch_.launched(On::label, library_.stream_);
    }

   private:
    const CuDnn& library_;
    const std::unique_ptr<Described> described_;
    const typename On::Proposal by_;
  };

  /// By a proposed algorithm of the method that repeats its bits, fits and multiplies as wanted: the first, or the next
  /// after `quicker` others.
  template <Product product>
  std::unique_ptr<Convolution> prepared(std::unique_ptr<Described> d, Method method, int quicker) const {
    using On = Calls<product>;
    std::array<typename On::Proposal, On::most> proposals{};
    int count = 0;
    if (On::propose(handle_.get(), *d, &count, proposals.data()) != CUDNN_STATUS_SUCCESS) return nullptr;
    if (method == Method::winograd && (d->shape.kh != 3 || d->shape.kw != 3)) return nullptr;
    std::vector<std::pair<int, int>> passed;  // algorithms, and how they multiply
    for (int i = 0; i < count; ++i) {
      auto& by = proposals[static_cast<std::size_t>(i)];
      if (by.status != CUDNN_STATUS_SUCCESS || by.determinism != CUDNN_DETERMINISTIC) continue;
      if (method == Method::winograd ? !is_winograd(by.algo) : !is_plain(by.algo)) continue;
      if (!tf32_) by.mathType = CUDNN_FMA_MATH;
      if (f_.SetConvolutionMathType(d->convolution.get(), by.mathType) != CUDNN_STATUS_SUCCESS) continue;
      if (On::size(handle_.get(), *d, by, &by.memory) != CUDNN_STATUS_SUCCESS || by.memory > most_workspace(d->shape))
        continue;
      const std::pair<int, int> one{by.algo, by.mathType};
      if (std::find(passed.begin(), passed.end(), one) != passed.end()) continue;
      if (static_cast<int>(passed.size()) == quicker)
        return std::make_unique<Prepared<product>>(*this, std::move(d), by);
      passed.push_back(one);
    }
    return nullptr;
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
