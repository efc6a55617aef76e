#include "app/measure/dry_group.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/base/memory_error.h"

namespace cortado {
namespace {
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

DryGroup::DryGroup(CoreGroup& real) : real_(real), spec_(real.spec()) {
  spec_.timing_only = true;
  if (real.library() != nullptr) library_ = std::make_unique<DryLibrary>(real.library()->name());
}

DryGroup::~DryGroup() {
  for (const auto& [first, bytes] : areas_) munmap(const_cast<char*>(first), bytes);
}

void* DryGroup::allocate(std::size_t bytes) {
  const std::size_t mapped = std::max<std::size_t>(bytes, 1);
  // Pages that are read are the system's one page of zeros; those that are written become memory.
  void* const memory =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw MemoryError("", "there are no addresses for " + megabytes_text(static_cast<double>(bytes)));
#if defined(MADV_NOHUGEPAGE)
  madvise(memory, mapped, MADV_NOHUGEPAGE);
#endif
  areas_[static_cast<char*>(memory)] = mapped;
  held_ += static_cast<i64>(bytes);
  peak_ = std::max(peak_, held_);
  return memory;
}

void DryGroup::release(void* memory) noexcept {
  const auto found = areas_.find(static_cast<char*>(memory));
  if (found == areas_.end()) return;
  munmap(memory, found->second);
  held_ -= static_cast<i64>(found->second);
  areas_.erase(found);
}

bool DryGroup::is_ours(const void* memory) const {
  const auto* const at = static_cast<const char*>(memory);
  auto above = areas_.upper_bound(at);
  if (above == areas_.begin()) return false;
  const auto& [first, bytes] = *std::prev(above);
  return at < first + bytes;
}

void DryGroup::copy(void* to, const void* /*from*/, std::size_t bytes, Stream) {
  if (!is_ours(to)) std::memset(to, 0, bytes);
}

i64 DryGroup::resident() const {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  i64 pages = 0;
  std::vector<unsigned char> present;
  for (const auto& [first, bytes] : areas_) {
    present.assign((bytes + page - 1) / page, 0);
    if (mincore(const_cast<char*>(first), bytes, present.data()) != 0) continue;
    pages += std::count_if(present.begin(), present.end(), [](unsigned char p) { return (p & 1U) != 0; });
  }
  return pages * static_cast<i64>(page);
}

void DryGroup::run_program(ProgramKey, const char*, const void*, const Plan& plan, Stream) {
  scratch_ = std::max(scratch_, plan.scratch_bytes * spec_.cpes);
}

}  // namespace cortado
