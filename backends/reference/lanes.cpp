#include "backends/reference/lanes.h"

#include <ucontext.h>

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace cortado::reference {
namespace {
constexpr std::size_t stack_bytes = std::size_t{512} * 1024;
thread_local Lanes* entering = nullptr;  // makecontext passes no pointers
}  // namespace

struct Lanes::Fiber {
  ucontext_t context{};
  std::unique_ptr<char[]> stack;  // none for the caller's own
  bool alive = false;
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  const void* bottom = nullptr;
  std::size_t size = 0;
#endif
};

Lanes::Lanes(int count) : count_(count), caller_(std::make_unique<Fiber>()) {
  if (count == 1) return;
  for (int lane = 0; lane < count; ++lane) {
    fibers_.push_back(std::make_unique<Fiber>());
    fibers_.back()->stack.reset(new char[stack_bytes]);
#if defined(__SANITIZE_ADDRESS__)
    fibers_.back()->bottom = fibers_.back()->stack.get();
    fibers_.back()->size = stack_bytes;
#endif
  }
}

Lanes::~Lanes() = default;

void Lanes::run(const std::function<void(int)>& body) {
  if (count_ == 1) return body(0);
  body_ = &body;
  failure_ = nullptr;
  for (auto& fiber : fibers_) {
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack.get();
    fiber->context.uc_stack.ss_size = stack_bytes;
    fiber->context.uc_link = nullptr;
    fiber->alive = true;
    makecontext(&fiber->context, &Lanes::enter, 0);
  }
  current_ = 0;
  entering = this;
  switch_to(*caller_, *fibers_[0], false);
  current_ = 0;
  if (failure_) std::rethrow_exception(failure_);
}

void Lanes::enter() {
  Lanes& lanes = *entering;
#if defined(__SANITIZE_ADDRESS__)
  // The sanitizer's swapcontext unpoisons the whole stack that a context names, by mapping new pages: once is enough.
  lanes.fibers_[static_cast<std::size_t>(lanes.current_)]->context.uc_stack.ss_size = 0;
  // The first fiber learns from the switch where the caller's stack is, to name it when going back.
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
  if (lanes.current_ == 0) {
    lanes.caller_->bottom = bottom;
    lanes.caller_->size = size;
  }
#endif
  lanes.live(lanes.current_);
}

void Lanes::live(int lane) {
  try {
    if (!failure_) (*body_)(lane);
  } catch (const Unwind&) {
    // the lane that failed tells
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
  }
  Fiber& me = *fibers_[static_cast<std::size_t>(lane)];
  me.alive = false;
  current_ = next_alive(lane);
  entering = this;
  switch_to(me, current_ == lane ? *caller_ : *fibers_[static_cast<std::size_t>(current_)], true);
}

int Lanes::next_alive(int lane) const {
  for (int step = 1; step < count_; ++step)
    if (fibers_[static_cast<std::size_t>((lane + step) % count_)]->alive) return (lane + step) % count_;
  return lane;
}

void Lanes::turn() {
  if (count_ == 1) return;
  const int lane = current_, next = next_alive(lane);
  if (next != lane) {
    current_ = next;
    entering = this;
    switch_to(*fibers_[static_cast<std::size_t>(lane)], *fibers_[static_cast<std::size_t>(next)], false);
  }
  if (failure_) throw Unwind{};
}

void Lanes::switch_to(Fiber& from, Fiber& to, bool from_ends) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(from_ends ? nullptr : &from.fake_stack, to.bottom, to.size);
#else
  static_cast<void>(from_ends);
#endif
  swapcontext(&from.context, &to.context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

}  // namespace cortado::reference
