#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "backends/kokkos/cuda_check.h"
#include "backends/kokkos/programs.h"
#include "backends/kokkos/space.h"
#include "core/machine/convolution_library.h"
#include "core/machine/core_group.h"
#include "core/machine/tf32.h"

namespace cortado::kokkos {

struct CudaFailure;

/// A core group on one CUDA device, which several may share. Every stream is a CUDA stream with a Kokkos instance of
/// its own. Once the device is lost every call throws and nothing is released any more.
class CudaGroup : public CoreGroup {
 public:
  /// `tf32` tells what the vendor's libraries may do; nothing means that the group has no libraries.
  CudaGroup(int index, int device, const MachineSpec& spec, std::optional<Tf32> tf32, const Programs& programs);
  ~CudaGroup() override;

  const MachineSpec& spec() const override { return spec_; }
  int index() const override { return index_; }
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void* allocate_staging(std::size_t bytes) override;
  void release_staging(void* memory) noexcept override;
  Stream make_stream() override;
  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override;
  void zero(void* memory, std::size_t bytes, Stream stream) override;
  void wait() override;
  void order(Stream earlier, Stream later) override;
  Event record(Stream stream) override;
  double seconds_between(const Event& from, const Event& to) override;
  MatrixLibrary* library() override { return library_.get(); }
  ConvolutionLibrary* convolutions() override { return convolutions_.get(); }
  std::string why_no_convolutions() const override { return why_no_convolutions_; }
  std::unique_ptr<CoreGroup> make_helper() override {
    return std::make_unique<CudaGroup>(index_, watch_.device(), spec_, std::nullopt, programs_);
  }

 protected:
  void run_program(ProgramKey key, const char* label, const void* program, const Plan& plan, Stream stream) override;

 private:
  struct Queue {
    explicit Queue(const CudaWatch& device);
    ~Queue();
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    const CudaWatch& watch;
    cudaStream_t stream = nullptr;
    Space* space = nullptr;
  };
  const Queue& queue(Stream stream) const { return *queues_.at(static_cast<std::size_t>(stream.id)); }
  cudaStream_t cuda_stream(Stream stream) const { return queue(stream).stream; }

  const int index_;
  const CudaWatch watch_;
  const MachineSpec spec_;
  const Programs& programs_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::unique_ptr<MatrixLibrary> library_;
  std::string why_no_convolutions_;
  std::unique_ptr<ConvolutionLibrary> convolutions_;
  CudaFailure* failure_ = nullptr;  // device memory
};

}  // namespace cortado::kokkos
