#include "core/solver/snapshot_writer.h"

#include <utility>

namespace cortado {

void SnapshotWriter::add(std::function<void()> work) {
  if (!beside_) return work();
  works_.push_back(std::move(work));
}

void SnapshotWriter::start() {
  if (works_.empty()) return;
  join();
  thread_ = std::thread([this, works = std::exchange(works_, {})]() mutable {
    try {
      for (auto& work : works) {
        work();
        work = nullptr;  // its memory is free
      }
    } catch (...) {
      failure_ = std::current_exception();
      failed_ = true;
    }
  });
}

void SnapshotWriter::join() {
  if (thread_.joinable()) thread_.join();
}

void SnapshotWriter::wait() {
  join();
  works_.clear();  // of a snapshot that failed before it could start
  failed_ = false;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace cortado
