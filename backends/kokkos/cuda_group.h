#pragma once
#include <memory>
#include <vector>

#include "backends/kokkos/programs.h"
#include "backends/kokkos/space.h"
#include "core/machine/core_group.h"

namespace cortado::kokkos {

/// A core group on the current CUDA device. Every stream is a CUDA stream with a Kokkos instance of its own; the core
/// groups of one process share the device.
class CudaGroup : public CoreGroup {
 public:
  CudaGroup(int index, const MachineSpec& spec, const Programs& programs);
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

 protected:
  void run_program(ProgramKey key, const char* label, const void* program, const Plan& plan, Stream stream) override;

 private:
  cudaStream_t cuda_stream(Stream stream) const;

  const int index_;
  const MachineSpec spec_;
  const Programs& programs_;
  std::vector<cudaStream_t> streams_;
  std::vector<Space> spaces_;  // one per stream
  std::unique_ptr<MatrixLibrary> library_;
  Failure* failure_ = nullptr;  // device memory
};

}  // namespace cortado::kokkos
