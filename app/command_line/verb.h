#pragma once
#include <memory>

#include "app/command_line/flags.h"
#include "comm/job.h"

namespace cortado {

/// A verb, `cortado NAME`. It keeps the values of its flags as members, and one file has its flags and its work.
class Verb {
 public:
  Verb() = default;
  Verb(const Verb&) = delete;
  Verb& operator=(const Verb&) = delete;
  virtual ~Verb() = default;

  /// Adds the verb's flags, in the order of --help. They write to members.
  virtual void add_to(Flags& flags) = 0;
  /// Does the work, on every rank, and returns the exit code. Throws Error on failure.
  virtual int run(const MpiJob& job) = 0;
  /// True if the verb makes SignalActions: signals then wait for it instead of ending the process.
  virtual bool handles_signals() const { return false; }
};

}  // namespace cortado
