#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "core/machine/core_group.h"

namespace cortado {

/// A core group in which nothing runs and which has no memory. Allocations, also for staging, are counted; their
/// addresses are none that a process can have. A net or a solver on it takes the steps that it takes on `real`, with
/// the same plans and layouts. Afterwards its memory need is known. Copies from it give zeros.
class DryGroup : public CoreGroup {
 public:
  /// `cpes`: compute elements that it has instead of the real one's; 0: as many.
  explicit DryGroup(CoreGroup& real, int cpes = 0);
  /// From now on, calls `told` for every program: its label and plan.
  void watch(std::function<void(const char* label, const Plan& plan)> told) { told_ = std::move(told); }

  const MachineSpec& spec() const override { return spec_; }
  int index() const override { return real_.index(); }
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  Stream make_stream() override { return Stream{++streams_}; }
  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override;
  void zero(void*, std::size_t, Stream) override {}
  void wait() override {}
  void order(Stream, Stream) override {}
  Event record(Stream) override { return {}; }
  double seconds_between(const Event&, const Event&) override { return 0; }
  MatrixLibrary* library() override { return library_.get(); }
  std::string why_no_library() const override { return real_.why_no_library(); }
  ConvolutionLibrary* convolutions() override { return real_.convolutions(); }
  std::string why_no_convolutions() const override { return real_.why_no_convolutions(); }

  /// The most bytes allocated at the same time so far, scratchpads of the largest plan included.
  i64 peak() const { return peak_ + scratch_; }

 protected:
  void run_program(ProgramKey key, const char* label, const void* program, const Plan& plan, Stream stream) override;

 private:
  bool is_ours(const void* memory) const;

  CoreGroup& real_;
  MachineSpec spec_;
  std::unique_ptr<MatrixLibrary> library_;  // where the real one has one
  std::map<const void*, std::size_t> areas_;
  std::size_t given_ = 0;  // bytes of addresses, which are never given again
  i64 held_ = 0, peak_ = 0, scratch_ = 0;
  int streams_ = 0;
  std::function<void(const char*, const Plan&)> told_;
};

}  // namespace cortado
