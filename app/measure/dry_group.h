#pragma once
#include <map>
#include <memory>

#include "core/machine/core_group.h"

namespace cortado {

/// A core group in which nothing runs and no memory is filled: what is allocated is addresses, and is counted. A net or
/// a solver built on it takes the steps that it takes on `real`, whose plans and layouts it chooses, and leaves how
/// much memory that needs. Values that are read are zeros.
class DryGroup : public CoreGroup {
 public:
  explicit DryGroup(CoreGroup& real);
  ~DryGroup() override;

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

  /// Bytes allocated at the same time, scratchpads of the largest plan included: the most so far.
  i64 peak() const { return peak_ + scratch_; }
  /// Bytes of what is allocated that somebody has written in spite of all, and that the system therefore holds.
  i64 resident() const;

 protected:
  void run_program(ProgramKey key, const char* label, const void* program, const Plan& plan, Stream stream) override;

 private:
  bool is_ours(const void* memory) const;

  CoreGroup& real_;
  MachineSpec spec_;
  std::unique_ptr<MatrixLibrary> library_;  // where the real one has one
  std::map<const char*, std::size_t> areas_;
  i64 held_ = 0, peak_ = 0, scratch_ = 0;
  int streams_ = 0;
};

}  // namespace cortado
