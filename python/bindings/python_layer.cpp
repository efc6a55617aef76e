#include "python/bindings/python_layer.h"

#include <pybind11/stl.h>

#include "core/formats/caffe.pb.h"
#include "core/net/layer.h"
#include "python/bindings/blob_face.h"

namespace cortado::python {
namespace {

class PythonLayer;

/// The parameters of a Python layer, as a list that grows within setup.
class Parameters {
 public:
  explicit Parameters(PythonLayer& layer) : layer_(&layer) {}
  void add(const Shape& shape);
  std::size_t size() const;
  BlobFace at(i64 i) const;

 private:
  PythonLayer* layer_;
};

/// Caffe's Python layer: an object of a class that `python_param` names by module and layer. Its functions setup,
/// reshape, forward and backward get blobs, whose arrays lie in host memory.
class PythonLayer : public Layer {
 public:
  using Layer::Layer;
  ~PythonLayer() override {
    house_->is_open = false;
    const py::handle last = object_.release();
    if (Py_IsInitialized() == 0) return;  // its memory has gone with the interpreter
    const py::gil_scoped_acquire held;
    last.dec_ref();
  }
  Arity bottoms() const override { return {0, -1}; }
  Arity tops() const override { return {0, -1}; }
  bool shapes_tops_in_forward() const override { return true; }
  std::string why_runs_once() const override { return "a Python layer may keep what it has seen"; }

  void setup(const Blobs& bottom, const Blobs& top) override {
    const py::gil_scoped_acquire held;
    const auto& named = parameter().python_param();
    if (named.module().empty() || named.layer().empty())
      bad_config("python_param names no class", "give module and layer");
    const py::object made = py::module_::import("cortado.layer")
                                .attr("make")(named.module(), named.layer(), named.param_str(),
                                              py::bytes(parameter().SerializeAsString()), run().phase == Phase::test);
    object_ = made;
    object_.attr("blobs") = Parameters(*this);
    call("setup", faces(bottom), faces(top));
  }
  void reshape(const Blobs& bottom, const Blobs& top) override {
    const py::gil_scoped_acquire held;
    call("reshape", faces(bottom), faces(top));
  }
  void forward(const Blobs& bottom, const Blobs& top) override {
    const py::gil_scoped_acquire held;
    call("reshape", faces(bottom), faces(top));  // Caffe does so too: shapes may follow values
    call("forward", faces(bottom), faces(top));
  }
  void backward(const Blobs& top, const std::vector<bool>& propagate_down, const Blobs& bottom) override {
    const py::gil_scoped_acquire held;
    call("backward", faces(top), py::cast(propagate_down), faces(bottom));
  }

  py::object object() const { return object_; }
  void add(const Shape& shape) { add_parameter(shape, {}); }
  BlobFace face(Blob& blob) const { return BlobFace(blob, house_, nullptr, false); }

 private:
  py::list faces(const Blobs& blobs) const {
    py::list all;
    for (Blob* const blob : blobs) all.append(face(*blob));
    return all;
  }
  /// Calls the user's function. What it leaves in arrays is in the blobs afterwards.
  template <class... Arguments>
  void call(const char* function, Arguments&&... arguments) {
    group().wait();
    object_.attr(function)(std::forward<Arguments>(arguments)...);
    house_->arrays.write_back();
    house_->arrays.drop();
  }

  std::shared_ptr<BlobHouse> house_ = std::make_shared<BlobHouse>();
  py::object object_;
};

void Parameters::add(const Shape& shape) { layer_->add(shape); }
std::size_t Parameters::size() const { return layer_->blobs().size(); }
BlobFace Parameters::at(i64 i) const {
  const auto& blobs = layer_->blobs();
  const i64 index = i < 0 ? i + static_cast<i64>(blobs.size()) : i;
  if (index < 0 || index >= static_cast<i64>(blobs.size())) throw py::index_error("the layer has no such blob");
  return layer_->face(*blobs[static_cast<std::size_t>(index)]);
}

}  // namespace

void add_python_layers(LayerTable& layers) { layers.add<PythonLayer>("Python"); }

py::object python_object(const Layer& layer) {
  const auto* const python = dynamic_cast<const PythonLayer*>(&layer);
  return python != nullptr ? python->object() : py::object();
}

void bind_python_layers(py::module_& module) {
  py::class_<Parameters>(module, "Parameters", "The learnable blobs of a Python layer.")
      .def(
          "add_blob", [](Parameters& all, const py::args& dimensions) { all.add(shape_of(dimensions)); },
          "Adds a blob of zeros, within setup.")
      .def("__len__", &Parameters::size)
      .def("__getitem__", &Parameters::at);
}

}  // namespace cortado::python
