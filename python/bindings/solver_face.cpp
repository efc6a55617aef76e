#include "python/bindings/solver_face.h"

#include <pybind11/stl.h>

namespace cortado::python {
namespace {

std::shared_ptr<SolverFace> solver_of_file(const std::string& file, const std::string& type, bool keeps_values) {
  Interpreter::get();  // before errors, which the log shows
  caffe::SolverParameter parameter;
  read_solver(file, parameter);
  if (!type.empty()) parameter.set_type(type);
  return std::make_shared<SolverFace>(std::move(parameter), keeps_values);
}

std::shared_ptr<SolverFace> solver_of_message(const py::bytes& message, const std::string& type, bool keeps_values) {
  caffe::SolverParameter parameter;
  if (!parameter.ParseFromString(message)) throw ConfigError("solver", "the message is no SolverParameter");
  upgrade_solver(parameter, "solver");
  if (!type.empty()) parameter.set_type(type);
  return std::make_shared<SolverFace>(std::move(parameter), keeps_values);
}

py::list scores_of(const SolverFace& face) {
  py::list all;
  for (const auto& scores : face.solver().scores()) {
    py::dict by_name;
    for (const auto& score : scores) {
      const py::str name(score.name);
      if (!by_name.contains(name)) by_name[name] = py::list();
      by_name[name].cast<py::list>().append(score.value);
    }
    all.append(by_name);
  }
  return all;
}

}  // namespace

SolverFace::SolverFace(caffe::SolverParameter parameter, bool keeps_values)
    : interpreter_(Interpreter::get()), parameter_(std::move(parameter)) {
  TrainerOptions options;
  options.keeps_values = keeps_values;
  options.action = [this] { return ask(); };
  {
    const py::gil_scoped_release released;
    trainer_ = std::make_shared<Trainer>(session(), parameter_, options);
  }
  net_ = std::make_shared<NetFace>(solver().net(), trainer_, keeps_values);
  for (std::size_t i = 0; i < solver().test_nets(); ++i)
    test_nets_.push_back(std::make_shared<NetFace>(solver().test_net(i), trainer_, keeps_values));
  interpreter_->add(this);
}

SolverFace::~SolverFace() {
  close();
  interpreter_->remove(this);
}

void SolverFace::close() noexcept {
  const auto callbacks = std::move(callbacks_);  // they go last: one may hold this solver
  net_.reset();
  test_nets_.clear();
  trainer_.reset();
}

Solver& SolverFace::solver() const {
  if (trainer_ == nullptr) throw ConfigError("solver", "is gone: the interpreter ends");
  return trainer_->solver();
}

std::shared_ptr<NetFace> SolverFace::net() { return net_; }
std::vector<std::shared_ptr<NetFace>> SolverFace::test_nets() { return test_nets_; }

SolverAction SolverFace::ask() {
  if (Interpreter::ends()) return SolverAction::stop;
  const py::gil_scoped_acquire held;
  if (interrupt_ == nullptr && PyErr_CheckSignals() == 0) return SolverAction::none;
  if (interrupt_ == nullptr) interrupt_ = std::make_unique<py::error_already_set>();
  return SolverAction::stop;
}

void SolverFace::run(const std::function<void()>& work) {
  solver();
  interrupt_.reset();
  // Nested: each net's arrays agree with its blobs before and after.
  std::function<void()> all = work;
  for (const auto& net : test_nets_) {
    std::function<void()> inner = all;
    NetFace& face = *net;
    all = [&face, inner] {
      const py::gil_scoped_acquire held;
      face.run(inner);
    };
  }
  net_->run(all);
  if (interrupt_ != nullptr) throw py::error_already_set(*interrupt_);
}

/// Nested, as in run.
std::function<void()> SolverFace::caller(const py::function& function) {
  callbacks_.push_back(function);
  return [this, &called = callbacks_.back()] {
    std::function<void()> all = [&called] { called(); };
    for (const auto& net : test_nets_) all = [&face = *net, inner = all] { face.call(inner); };
    net_->call(all);
  };
}

void SolverFace::add_callback(const py::function& on_start, const py::function& on_gradients_ready) {
  solver().add_callback({caller(on_start), caller(on_gradients_ready)});
}

void bind_solvers(py::module_& module) {
  const auto run = [](auto work) { return [work](SolverFace& face) { face.run([&] { work(face.solver()); }); }; };
  py::class_<SolverFace, std::shared_ptr<SolverFace>>(module, "Solver", py::dynamic_attr())
      // Before the one of files: bytes pass for text.
      .def(py::init(&solver_of_message), py::arg("message"), py::arg("type") = "", py::arg("keeps_values") = true)
      .def(py::init(&solver_of_file), py::arg("file"), py::arg("type") = "", py::arg("keeps_values") = true)
      .def_property_readonly("net", &SolverFace::net, "The training net.")
      .def_property_readonly("test_nets", &SolverFace::test_nets, "The test nets, which share its weights.")
      .def_property_readonly("iter", [](const SolverFace& face) { return face.solver().iteration(); })
      .def_property_readonly(
          "loss", [](const SolverFace& face) { return face.solver().last_loss(); },
          "The loss of the last iteration, mean over ranks.")
      .def_property_readonly(
          "learning_rate", [](const SolverFace& face) { return face.solver().learning_rate(); },
          "The next iteration's.")
      .def_property_readonly("scores", &scores_of, "The outputs of the last test, by name, a dictionary for each net.")
      .def_property_readonly("_param",
                             [](const SolverFace& face) { return py::bytes(face.parameter().SerializeAsString()); })
      .def("_solve", run([](Solver& solver) { solver.solve(); }))
      .def(
          "step", [](SolverFace& face, i64 iterations) { face.run([&] { face.solver().step(iterations); }); },
          py::arg("iterations"), "Trains so many iterations more.")
      .def("test", run([](Solver& solver) { solver.test(); }), "Runs all test nets; see scores.")
      .def("apply_update", run([](Solver& solver) { solver.update(); }),
           "Updates the weights by the gradients that lie in the net.")
      .def("add_callback", &SolverFace::add_callback, py::arg("on_start"), py::arg("on_gradients_ready"),
           "Calls on_start() before each iteration's forward, and on_gradients_ready() before its update.")
      .def(
          "snapshot",
          [](SolverFace& face) {
            std::string state;
            face.run([&] { state = face.solver().snapshot(); });
            return state;
          },
          "Writes weights and state beside snapshot_prefix. Returns the state's file.")
      .def(
          "restore", [](SolverFace& face, const std::string& file) { face.run([&] { face.solver().restore(file); }); },
          py::arg("file"), "Goes on from a .solverstate[.h5].")
      .def(
          "load_weights",
          [](SolverFace& face, const std::string& files) { face.run([&] { face.solver().load_weights(files); }); },
          py::arg("files"), "Starts from weights, by layers' names.");
}

}  // namespace cortado::python
