#pragma once
#include <memory>
#include <vector>

#include "backends/kokkos/programs.h"
#include "backends/kokkos/space.h"
#include "core/machine/core_group.h"

namespace cortado::kokkos {

/// A core group of OpenMP threads. Calls do their work at once; `wait` only throws what failed.
class OpenMPGroup : public CoreGroup {
 public:
  OpenMPGroup(int index, const MachineSpec& spec, const Space& space, const Programs& programs);
  ~OpenMPGroup() override;

  const MachineSpec& spec() const override { return spec_; }
  int index() const override { return index_; }
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  Stream make_stream() override { return Stream{++streams_}; }
  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override;
  void zero(void* memory, std::size_t bytes, Stream stream) override;
  void wait() override;
  void order(Stream, Stream) override {}
  Event record(Stream stream) override;
  double seconds_between(const Event& from, const Event& to) override { return to.seconds - from.seconds; }
  MatrixLibrary* library() override { return library_.get(); }
  /// Its one CPE is the thread that calls it.
  std::unique_ptr<CoreGroup> make_helper() override;

 protected:
  void run_program(ProgramKey key, const char* label, const void* program, const Plan& plan, Stream stream) override;

 private:
  char* scratch(i64 bytes);

  const int index_;
  const MachineSpec spec_;
  const Space space_;
  const Programs& programs_;
  std::unique_ptr<MatrixLibrary> library_;
  Failure failure_;
  std::vector<Taken> taken_;  ///< Grant::taken
  int streams_ = 0;
  char* scratch_ = nullptr;
  i64 scratch_bytes_ = 0;
};

}  // namespace cortado::kokkos
