#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include "core/base/bf16.h"
#include "core/machine/machine_spec.h"
#include "core/machine/plan.h"
#include "core/machine/program.h"

namespace cortado {

class ConvolutionLibrary;

/// A queue of work on one core group: what is put into one stream happens in order. 0 is the compute stream,
/// where every launch goes unless told otherwise; `CoreGroup::make_stream` makes more.
struct Stream {
  int id = 0;
};

/// Row-major matrix operations of a vendor library, on cluster memory, in order with the compute stream.
/// y (m x n, leading dimension ldy) = alpha op(a) op(b) + beta y, op(a) m x k and op(b) k x n; a transposed
/// operand is stored k x m (n x k).
class MatrixLibrary {
 public:
  virtual ~MatrixLibrary() = default;
  struct Gemm {
    bool transpose_a = false, transpose_b = false;
    i64 m = 0, n = 0, k = 0;
    float alpha = 1;
    const float* a = nullptr;
    i64 lda = 0;
    const float* b = nullptr;
    i64 ldb = 0;
    float beta = 0;
    float* y = nullptr;
    i64 ldy = 0;
    Precision operands = Precision::fp32;  ///< bf16: a and b may be rounded to it as they are multiplied
  };
  virtual std::string name() const = 0;
  virtual void gemm(const Gemm& g) = 0;
  /// `count` products; product i reads a + i stride_a and b + i stride_b and writes y + i stride_y. Products of
  /// one call run concurrently, so the strides of y must keep them apart.
  virtual void gemm_batch(const Gemm& g, i64 count, i64 stride_a, i64 stride_b, i64 stride_y) = 0;
};

/// The management side of one core group: its memory, its streams, its cluster (swCaffe section II-A; the MPE's
/// part of principle 1). Calls queue work and return; `wait` returns when it is done and throws what went wrong.
/// A backend may do the work at once. One thread drives a core group.
class CoreGroup {
 public:
  virtual ~CoreGroup() = default;
  CoreGroup() = default;
  CoreGroup(const CoreGroup&) = delete;
  CoreGroup& operator=(const CoreGroup&) = delete;

  virtual const MachineSpec& spec() const = 0;
  virtual int index() const = 0;  ///< number of this core group in its processor

  /// Memory that the cluster reaches, aligned to 128 bytes, contents undefined. Throws Error when there is
  /// none left. Prefer ClusterMemory, which releases itself.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;

  /// Host memory from which `copy` is fast: page-locked where that matters, otherwise as `allocate` gives it.
  virtual void* allocate_staging(std::size_t bytes) { return allocate(bytes); }
  virtual void release_staging(void* memory) noexcept { release(memory); }

  virtual Stream make_stream() = 0;

  /// Queues a copy between host and cluster memory, or within either. Host memory must stay as it is until the
  /// wait. Where spec().host_memory holds, a copy is a memcpy.
  virtual void copy(void* to, const void* from, std::size_t bytes, Stream stream = {}) = 0;
  /// Queues zeroing of cluster memory.
  virtual void zero(void* memory, std::size_t bytes, Stream stream = {}) = 0;

  /// Queues a cluster program. `program` is copied. The plan's scratchpad list is granted to every CPE.
  template <class Program>
  void launch(const Program& program, const Plan& plan, Stream stream = {}) {
    static_assert(std::is_trivially_copyable<Program>::value, "a program is plain data");
    run_program(program_key<Program>(), Program::label, &program, plan, stream);
  }

  /// Returns when everything queued on every stream is done. Throws ClusterError for the first program that
  /// failed, naming its label, the line and the code it gave to `fail`; the group can be used again.
  virtual void wait() = 0;

  /// Makes what is queued on `later` from now on wait for what is queued on `earlier` so far.
  virtual void order(Stream earlier, Stream later) = 0;

  /// A point in a stream. `seconds_between` waits for both and gives the backend's time, wall or simulated.
  struct Event {
    double seconds = 0;
    std::shared_ptr<void> handle;
  };
  virtual Event record(Stream stream = {}) = 0;
  virtual double seconds_between(const Event& from, const Event& to) = 0;

  /// The vendor's matrix library, or null; `why_no_library` then says why.
  virtual MatrixLibrary* library() { return nullptr; }
  virtual std::string why_no_library() const { return "backend " + spec().name + " has no matrix library"; }
  /// The vendor's convolution library (core/machine/convolution_library.h), or null; `why_no_convolutions` then says
  /// why.
  virtual ConvolutionLibrary* convolutions() { return nullptr; }
  virtual std::string why_no_convolutions() const { return "backend " + spec().name + " has no convolution library"; }

  /// A core group of the same memory for another thread, which launches programs on it while this one computes. It has
  /// queues and scratchpads of its own, and ends before this one. nullptr means that the machine has none.
  virtual std::unique_ptr<CoreGroup> make_helper() { return nullptr; }

 protected:
  virtual void run_program(ProgramKey key, const char* label, const void* program, const Plan& plan, Stream stream) = 0;
};

/// Owned cluster memory of one core group.
class ClusterMemory {
 public:
  ClusterMemory() = default;
  ClusterMemory(CoreGroup& group, std::size_t bytes) : group_(&group), bytes_(bytes) {
    if (bytes > 0) memory_ = group.allocate(bytes);
  }
  ClusterMemory(ClusterMemory&& other) noexcept { swap(other); }
  ClusterMemory& operator=(ClusterMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~ClusterMemory() {
    if (memory_ != nullptr) group_->release(memory_);
  }

  void* get() const { return memory_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(ClusterMemory& other) noexcept {
    std::swap(group_, other.group_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
  }

  CoreGroup* group_ = nullptr;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Lets the threads of Processor::run meet. When one of them fails, all that wait or come later throw PeerError,
/// so that nobody is left behind (the handshake of swCaffe figure 5, made abortable).
class GroupBarrier {
 public:
  virtual ~GroupBarrier() = default;
  virtual void arrive_and_wait() = 0;
};

/// All core groups of one process.
class Processor {
 public:
  virtual ~Processor() = default;
  virtual int core_groups() const = 0;
  virtual CoreGroup& group(int index) = 0;

  /// Runs `work` once per core group, each on a thread of its own (swCaffe algorithm 1, line 1), and returns when
  /// all have ended. The first exception is thrown again here. Not to be nested.
  virtual void run(const std::function<void(CoreGroup&, GroupBarrier&)>& work) = 0;
};

}  // namespace cortado
