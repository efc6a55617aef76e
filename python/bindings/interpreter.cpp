#include "python/bindings/interpreter.h"

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "comm/mpi_library.h"
#include "core/base/error.h"
#include "core/base/log_level.h"
#include "python/bindings/python_layer.h"

namespace cortado::python {
namespace {
std::shared_ptr<Interpreter> interpreter;
std::atomic<bool> has_ended{false};
std::atomic<int> computations{0};
std::uint64_t net_seed = 1, nets_since = 0;
int log_level = -1;  // -1 means that nobody has said

SessionOptions& options() {
  static SessionOptions wanted;
  return wanted;
}

#ifdef OPEN_MPI
constexpr const char* built_for = "Open MPI";
#else
constexpr const char* built_for = "MPICH";
#endif
}  // namespace

void check_mpi_libraries() {
  const std::string ours = mpi_library();
  const auto is_open_mpi = [](const std::string& name) { return name.find("Open MPI") != std::string::npos; };
  const std::string advice =
      "let both use one: python3 -m pip install --no-binary mpi4py mpi4py builds mpi4py for an MPI";
  if (is_open_mpi(ours) != is_open_mpi(built_for))
    throw ConfigError("MPI", "Cortado is built for " + std::string(built_for) + ", and this process has loaded " + ours,
                      advice);
  const auto modules = py::module_::import("sys").attr("modules");
  if (!modules.contains("mpi4py.MPI")) return;
  const std::string other = library_line(modules["mpi4py.MPI"].attr("Get_library_version")().cast<std::string>());
  if (other != ours) throw ConfigError("MPI", "Cortado runs " + ours + ", and mpi4py runs " + other, advice);
}

Interpreter::Interpreter() : session_(job_, options()) {}

const std::shared_ptr<Interpreter>& Interpreter::get() {
  check_mpi_libraries();
  if (interpreter != nullptr) return interpreter;
  if (has_ended) throw ConfigError("", "the interpreter ends: nothing can be computed any more");
  open_log(false);
  interpreter.reset(new Interpreter);
  open_log(interpreter->job().rank() != 0);
  const char* const least = std::getenv("GLOG_minloglevel");
  set_log(log_level >= 0 ? log_level : least != nullptr ? std::atoi(least) : 0);
  add_python_layers(interpreter->session().layers);
  py::module_::import("cortado._end").attr("watch")(interpreter->job().rank(), interpreter->job().size());
  return interpreter;
}

Interpreter* Interpreter::running() { return interpreter.get(); }

void Interpreter::end() noexcept {
  has_ended = true;
  if (interpreter == nullptr) return;
  while (computations > 0) {
    const py::gil_scoped_release released;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  while (!interpreter->users_.empty()) {  // of which a solver takes its nets with it
    Closable* const user = *interpreter->users_.begin();
    interpreter->users_.erase(user);
    user->close();
  }
  interpreter.reset();
}

void Interpreter::set_devices(const std::vector<std::string>& devices) {
  if (interpreter != nullptr && options().devices != devices)
    throw ConfigError("set_device", "nets have been built already, on other devices",
                      "choose the device before the first net or solver");
  options().devices = devices;
}

bool Interpreter::ends() { return has_ended; }

Interpreter::Computation::Computation() {
  if (has_ended) throw ConfigError("", "the interpreter ends: nothing can be computed any more");
  ++computations;
}
Interpreter::Computation::~Computation() { --computations; }

void Interpreter::set_seed(std::uint64_t seed) {
  net_seed = seed;
  nets_since = 0;
}
std::uint64_t Interpreter::next_seed() { return net_seed + 0x9e3779b97f4a7c15U * nets_since++; }

void Interpreter::set_log(int least) {
  log_level = least;
  if (interpreter != nullptr && interpreter->job().rank() != 0) return;
  set_log_level(least <= 0 ? Severity::info : least == 1 ? Severity::warning : Severity::error);
}

}  // namespace cortado::python
