#pragma once
#include <pybind11/pybind11.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "library/cortado.h"

namespace cortado::python {

namespace py = pybind11;

/// Something that lives on the job and the session. `close` lets it go; later calls throw.
class Closable {
 public:
  virtual ~Closable() = default;
  virtual void close() noexcept = 0;
};

/// The job and the session of this interpreter. They begin with the first net or solver, and end as the interpreter
/// does: Python may keep nets and arrays longer than that.
class Interpreter {
 public:
  /// Starts what is needed. Throws ConfigError where mpi4py runs another MPI library than Cortado, or the interpreter
  /// ends.
  static const std::shared_ptr<Interpreter>& get();
  /// nullptr where nothing has begun yet, or all has ended.
  static Interpreter* running();
  /// Waits for computations of other threads, then ends nets, solvers, the session and the job, in that order.
  static void end() noexcept;
  /// True once `end` has been called: solvers stop.
  static bool ends();
  /// A computation, while it lives; made with Python's lock held. Throws ConfigError where the interpreter ends.
  class Computation {
   public:
    Computation();
    ~Computation();
    Computation(const Computation&) = delete;
    Computation& operator=(const Computation&) = delete;
  };

  /// The next session's; ConfigError if one runs with another.
  static void set_devices(const std::vector<std::string>& devices);
  /// Nets that are built from now on draw from it.
  static void set_seed(std::uint64_t seed);
  /// The next net's: the first one has the seed that was set, and each one after it another.
  static std::uint64_t next_seed();
  /// GLOG_minloglevel's numbers: 0 writes all, 1 warnings and errors, 2 errors alone.
  static void set_log(int least);

  const MpiJob& job() const { return job_; }
  Session& session() { return session_; }
  void add(Closable* user) { users_.insert(user); }
  void remove(Closable* user) { users_.erase(user); }

 private:
  Interpreter();

  MpiJob job_;
  Session session_;
  std::set<Closable*> users_;
};

/// ConfigError where this process runs MPI libraries that do not know of each other.
void check_mpi_libraries();

}  // namespace cortado::python
