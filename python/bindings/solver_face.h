#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "python/bindings/net_face.h"

namespace cortado::python {

/// A solver as Python sees it.
class SolverFace : public Closable {
 public:
  /// `keeps_values` means that blobs between layers can be read.
  SolverFace(caffe::SolverParameter parameter, bool keeps_values);
  ~SolverFace() override;
  SolverFace(const SolverFace&) = delete;
  SolverFace& operator=(const SolverFace&) = delete;

  Solver& solver() const;
  Session& session() const { return interpreter_->session(); }
  /// Runs work of the solver, and lets other Python threads go on. What a signal's handler raises, such as
  /// KeyboardInterrupt, ends it on all ranks between two iterations, and is thrown.
  void run(const std::function<void()>& work);
  /// From now on each iteration calls them, behind those that it calls already: before its first forward, and when
  /// this rank's gradients are there.
  void add_callback(const py::function& on_start, const py::function& on_gradients_ready);
  std::shared_ptr<NetFace> net();
  std::vector<std::shared_ptr<NetFace>> test_nets();
  const caffe::SolverParameter& parameter() const { return parameter_; }
  void close() noexcept override;

 private:
  SolverAction ask();
  std::function<void()> caller(const py::function& function);

  std::shared_ptr<Interpreter> interpreter_;
  caffe::SolverParameter parameter_;
  std::shared_ptr<Trainer> trainer_;
  std::shared_ptr<NetFace> net_;
  std::vector<std::shared_ptr<NetFace>> test_nets_;
  std::deque<py::function> callbacks_;
  std::unique_ptr<py::error_already_set> interrupt_;  ///< raised by a signal's handler while the solver ran
};

void bind_solvers(py::module_& module);

}  // namespace cortado::python
