#include "app/measure/dry_group.h"

#include <algorithm>
#include <cstring>

#include "core/base/memory_error.h"

namespace cortado {
namespace {
constexpr std::uintptr_t first_address = std::uintptr_t{1} << 62;  // no system of 64 bits has memory there
constexpr std::size_t most_bytes = std::size_t{1} << 61, step = 128;

class DryLibrary : public MatrixLibrary {
 public:
  explicit DryLibrary(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }
  void gemm(const Gemm&) override {}
  void gemm_batch(const Gemm&, i64, i64, i64, i64) override {}

 private:
  const std::string name_;
};
}  // namespace

DryGroup::DryGroup(CoreGroup& real, int cpes) : real_(real), spec_(real.spec()) {
  if (cpes > 0) spec_.cpes = cpes;
  spec_.timing_only = true;
  if (real.library() != nullptr) library_ = std::make_unique<DryLibrary>(real.library()->name());
}

void* DryGroup::allocate(std::size_t bytes) {
  if (bytes > most_bytes || given_ + bytes > most_bytes)
    throw MemoryError("", "asks for more memory than can be counted");
  void* const memory = reinterpret_cast<void*>(first_address + given_);
  given_ += (bytes / step + 1) * step;
  areas_[memory] = bytes;
  held_ += static_cast<i64>(bytes);
  peak_ = std::max(peak_, held_);
  return memory;
}

void DryGroup::release(void* memory) noexcept {
  const auto found = areas_.find(memory);
  if (found == areas_.end()) return;
  held_ -= static_cast<i64>(found->second);
  areas_.erase(found);
}

bool DryGroup::is_ours(const void* memory) const {
  const auto at = reinterpret_cast<std::uintptr_t>(memory);
  return at >= first_address && at - first_address < most_bytes;
}

void DryGroup::copy(void* to, const void* /*from*/, std::size_t bytes, Stream) {
  if (!is_ours(to)) std::memset(to, 0, bytes);
}

void DryGroup::run_program(ProgramKey, const char* label, const void*, const Plan& plan, Stream) {
  if (told_) told_(label, plan);
  scratch_ = std::max(scratch_, plan.scratch_bytes * spec_.cpes);
}

}  // namespace cortado
