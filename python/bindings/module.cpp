// The module cortado._cortado. What it lacks of Caffe's interface, python/cortado adds in Python.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "comm/wait/calls.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "layers/all_layers.h"
#include "python/bindings/interpreter.h"
#include "python/bindings/python_layer.h"
#include "python/bindings/solver_face.h"

namespace cortado::python {
namespace {

template <class E>
void bind_error(py::module_& module, const char* name, const char* document, py::handle base) {
  auto& made = py::register_exception<E>(module, name, base);
  made.attr("__doc__") = document;
  made.attr("__module__") = "cortado";
}

void bind_errors(py::module_& module) {
  static py::exception<Error> error(module, "Error", PyExc_RuntimeError);
  error.attr("__module__") = "cortado";
  error.attr("__doc__") = "The base of Cortado's errors. The text says where, what, and what to do.";
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& found) { error(found.what()); }
  });
  bind_error<ConfigError>(module, "ConfigError", "A net, a solver or a call that cannot mean anything.", error);
  bind_error<ShapeError>(module, "ShapeError", "Shapes that do not fit together.", error);
  bind_error<FileError>(module, "FileError", "A file that is absent, unreadable or of another kind.", error);
  bind_error<PlanError>(module, "PlanError", "A plan that does not fit the machine.", error);
  bind_error<NumericError>(module, "NumericError", "NaN or Inf where a number was due.", error);
  bind_error<PeerError>(module, "PeerError", "Another rank failed.", error);
}

std::vector<std::string> layer_types() {
  LayerTable table = all_layers();
  add_python_layers(table);
  return table.types();
}

int rank() { return Interpreter::get()->job().rank(); }
int ranks() { return Interpreter::get()->job().size(); }

}  // namespace

PYBIND11_MODULE(_cortado, module) {
  module.doc() = "Cortado's nets and solvers; use the package cortado.";
  bind_errors(module);
  bind_blobs(module);
  bind_python_layers(module);
  bind_nets(module);
  bind_solvers(module);
  module.attr("__version__") = version();
  module.def("layer_type_list", &layer_types, "All layer types.");
  module.def("set_devices", &Interpreter::set_devices);
  module.def("set_random_seed", &Interpreter::set_seed, py::arg("seed"),
             "The next net draws from this seed, and each one after it from another.");
  module.def("set_log_level", &Interpreter::set_log);
  module.def(
      "log", [](const std::string& text) { CORTADO_LOG(info) << text; }, "Writes a line to the log.");
  module.def("rank", &rank, "This process's number among the ranks of the job.");
  module.def("ranks", &ranks, "The number of ranks of the job.");
  module.def("_end", &Interpreter::end);
  module.def("_end_job", &end_job);
}

}  // namespace cortado::python
