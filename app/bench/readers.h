#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "core/base/types.h"
#include "parallel_io/sets/data_set.h"

namespace cortado {

/// IOR's report of a phase.
struct ReadingTimes {
  double open = 0, read = 0, close = 0, latency = 0;
  i64 bytes = 0, transfers = 0;
};

/// One reader's work: opening, and reading batch b of `batch` samples.
struct Reading {
  std::function<std::shared_ptr<void>()> open;
  std::function<i64(void* opened, i64 b, std::vector<Values>& to)> read;  ///< returns bytes
};

/// The amount of one reading and its longest time.
struct Amount {
  i64 batches, passes;
  double seconds;  ///< no reader begins another batch later
};

/// Runs `readers` threads that share the batches, and read them in passes. All begin at once after `prepare`, with open
/// files and memory that they have touched before.
ReadingTimes run_readers(int readers, const Amount& amount, const Reading& reading,
                         const std::function<void()>& prepare);

}  // namespace cortado
