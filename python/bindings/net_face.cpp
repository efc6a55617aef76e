#include "python/bindings/net_face.h"

#include <pybind11/stl.h>

#include <algorithm>

#include "app/onnx/export.h"
#include "core/formats/caffe.pb.h"
#include "core/formats/weight_files.h"
#include "python/bindings/python_layer.h"

namespace cortado::python {
namespace {

/// A layer as Net.layers lists it, if it has no Python object of its own.
struct LayerFace {
  std::string name, type;
  std::vector<BlobFace> blobs;
};

std::shared_ptr<NetFace> make_net(caffe::NetParameter parameter, int phase, int level,
                                  const std::vector<std::string>& stages, const std::string& weights) {
  return std::make_shared<NetFace>(std::move(parameter),
                                   NetFace::Options{phase == 0 ? Phase::train : Phase::test, level, stages, weights});
}

std::shared_ptr<NetFace> net_of_file(const std::string& file, int phase, int level,
                                     const std::vector<std::string>& stages, const std::string& weights) {
  caffe::NetParameter parameter;
  read_known_net(file, parameter, Interpreter::get()->session().layers);
  return make_net(std::move(parameter), phase, level, stages, weights);
}

std::shared_ptr<NetFace> net_of_message(const py::bytes& message, int phase, int level,
                                        const std::vector<std::string>& stages, const std::string& weights) {
  caffe::NetParameter parameter;
  if (!parameter.ParseFromString(message)) throw ConfigError("net", "the message is no NetParameter");
  upgrade_net(parameter, "net");
  return make_net(std::move(parameter), phase, level, stages, weights);
}

std::vector<BlobFace> blobs_of(NetFace& face) {
  std::vector<BlobFace> all;
  for (const std::string& name : face.net().blob_names()) all.push_back(face.face(*face.net().blob(name)));
  return all;
}

std::vector<BlobFace> parameters_of(NetFace& face, const Layer& layer) {
  std::vector<BlobFace> all;
  for (const auto& blob : layer.blobs()) all.push_back(face.parameter(*blob));
  return all;
}

py::list layers_of(NetFace& face) {
  py::list all;
  for (const Net::Entry& entry : face.net().layers()) {
    const py::object python = python_object(*entry.layer);
    all.append(python ? python
                      : py::cast(LayerFace{entry.layer->name(), entry.type, parameters_of(face, *entry.layer)}));
  }
  return all;
}

/// Tops of Input layers, in their order: the caller fills them.
std::vector<std::string> inputs_of(const NetFace& face) {
  std::vector<std::string> names;
  for (const Net::Entry& entry : face.net().layers())
    if (entry.type == "Input") names.insert(names.end(), entry.top_names.begin(), entry.top_names.end());
  return names;
}

std::vector<std::string> outputs_of(const NetFace& face) {
  std::vector<std::string> names;
  const auto outputs = face.net().outputs();
  for (const std::string& name : face.net().blob_names())  // in the order of layers
    if (std::any_of(outputs.begin(), outputs.end(), [&](const Net::Output& output) { return output.name == name; }))
      names.push_back(name);
  return names;
}

std::vector<std::string> layer_names(const NetFace& face) {
  std::vector<std::string> names;
  for (const Net::Entry& entry : face.net().layers()) names.push_back(entry.layer->name());
  return names;
}

py::dict loss_weights(const NetFace& face) {
  py::dict weights;
  for (const std::string& name : face.net().blob_names()) weights[name.c_str()] = 0.0;
  for (const Net::Entry& entry : face.net().layers())
    for (std::size_t i = 0; i < entry.top_names.size(); ++i)
      if (entry.loss_weights[i] != 0) weights[entry.top_names[i].c_str()] = entry.loss_weights[i];
  return weights;
}

py::list names_by_layer(const NetFace& face, const std::vector<std::string> Net::Entry::*names) {
  py::list all;
  for (const Net::Entry& entry : face.net().layers()) all.append(entry.*names);
  return all;
}

void copy_from(NetFace& face, const std::string& files) {
  face.run([&] {
    std::size_t begin = 0;
    while (begin <= files.size()) {  // Caffe takes several, with commas between
      const std::size_t end = std::min(files.find(',', begin), files.size());
      caffe::NetParameter weights;
      read_weights(files.substr(begin, end - begin), &face.session().hdf5, weights);
      face.net().copy_trained(weights);
      begin = end + 1;
    }
  });
}

void save(NetFace& face, const std::string& file, bool hdf5, bool write_diff) {
  face.run([&] {
    caffe::NetParameter weights;
    face.net().to_proto(weights, write_diff);
    if (hdf5)
      face.session().hdf5.write_weights(file, weights);
    else
      write_binary(file, weights);
  });
}

py::bytes to_proto(NetFace& face, bool write_diff) {
  caffe::NetParameter weights;
  face.run([&] { face.net().to_proto(weights, write_diff); });
  return weights.SerializeAsString();
}

}  // namespace

NetFace::NetFace(caffe::NetParameter parameter, const Options& with) : interpreter_(Interpreter::get()) {
  auto& state = *parameter.mutable_state();
  state.set_phase(with.phase == Phase::train ? caffe::TRAIN : caffe::TEST);
  state.set_level(with.level);
  for (const std::string& stage : with.stages) state.add_stage(stage);
  NetOptions options = session().net_options();
  options.seed = Interpreter::next_seed();
  options.keeps_values = true;
  std::shared_ptr<Net> made;
  {
    const py::gil_scoped_release released;
    made = std::make_shared<Net>(parameter, options);
    if (!with.weights.empty()) session().take_weights(*made, with.weights);
  }
  net_ = made.get();
  owner_ = made;
  find_moved();
  interpreter_->add(this);
}

NetFace::NetFace(Net& net, std::shared_ptr<void> owner, bool keeps_values)
    : interpreter_(Interpreter::get()), owner_(std::move(owner)), net_(&net), keeps_values_(keeps_values) {
  find_moved();
  interpreter_->add(this);
}

NetFace::~NetFace() {
  close();
  interpreter_->remove(this);
}

void NetFace::find_moved() {
  for (const Net::Entry& entry : net_->layers())
    if (Blob* const kept = entry.layer->kept_bottom(entry.bottom, entry.top)) {
      moved_.insert(kept);
      moved_.insert(entry.top.begin(), entry.top.end());
    }
}

void NetFace::close() noexcept {
  const auto callbacks = std::move(callbacks_);  // they go last: one may hold this net
  house_->is_open = false;
  house_->arrays.drop();
  if (net_ != nullptr) net_->set_callbacks({});
  net_ = nullptr;
  owner_.reset();
}

Net& NetFace::net() const {
  if (net_ == nullptr) throw ConfigError("net", "is gone: the interpreter ends");
  return *net_;
}

void NetFace::run(const std::function<void()>& work) {
  net();
  const Interpreter::Computation computation;
  house_->arrays.write_back();
  {
    const py::gil_scoped_release released;
    work();
    session().group.wait();
  }
  house_->arrays.refresh();
}

void NetFace::call(const std::function<void()>& python) {
  const py::gil_scoped_acquire held;
  session().group.wait();
  house_->arrays.refresh();
  python();
  house_->arrays.write_back();
}

std::function<void(std::size_t)> NetFace::caller(Moment moment) {
  return [this, moment](std::size_t layer) {
    const auto& functions = callbacks_[moment];
    if (functions.empty()) return;
    call([&] {
      for (std::size_t i = 0; i < functions.size(); ++i) functions[i](layer);  // which may add others
    });
  };
}

void NetFace::add_callback(Moment moment, py::function callback) {
  if (!keeps_values_)
    throw ConfigError("net '" + net().name() + "'", "layers that do others' work call no functions between",
                      "make the solver with keeps_values=True");
  if (!has_callbacks_)  // once: one of them may run
    net().set_callbacks(
        {caller(before_forward), caller(after_forward), caller(before_backward), caller(after_backward)});
  has_callbacks_ = true;
  callbacks_[moment].push_back(std::move(callback));
}

double NetFace::forward(std::size_t from, std::size_t to) {
  double loss = 0;
  run([&] {
    if (from == 0 && has_run_) ++net_->run().pass;
    has_run_ = has_run_ || from == 0;
    net_->forward(from, to);
    loss = net_->loss();
  });
  return loss;
}

BlobFace NetFace::face(Blob& blob) { return {blob, house_, shared_from_this(), moved_.count(&blob) > 0}; }
BlobFace NetFace::parameter(Blob& blob) { return {blob, house_, shared_from_this(), false, net_}; }

void bind_nets(py::module_& module) {
  py::class_<LayerFace>(module, "NetLayer", "A layer of a net: name, type, blobs.")
      .def_readonly("name", &LayerFace::name)
      .def_readonly("type", &LayerFace::type)
      .def_readonly("blobs", &LayerFace::blobs);
  // net.py gives the class the rest of Caffe's functions.
  py::class_<NetFace, std::shared_ptr<NetFace>>(module, "Net", py::dynamic_attr())
      // Before the one of files: bytes pass for text.
      .def(py::init(&net_of_message), py::arg("message"), py::arg("phase"), py::arg("level") = 0,
           py::arg("stages") = std::vector<std::string>(), py::arg("weights") = "")
      .def(py::init(&net_of_file), py::arg("file"), py::arg("phase"), py::arg("level") = 0,
           py::arg("stages") = std::vector<std::string>(), py::arg("weights") = "")
      .def_property_readonly("name", [](const NetFace& face) { return face.net().name(); })
      .def_property_readonly("_blob_names", [](const NetFace& face) { return face.net().blob_names(); })
      .def_property_readonly("_blobs", &blobs_of)
      .def_property_readonly("_layer_names", &layer_names)
      .def_property_readonly("layers", &layers_of, "The layers in order; those of type Python as their objects.")
      .def_property_readonly("inputs", &inputs_of, "Names of the blobs that the caller fills.")
      .def_property_readonly("outputs", &outputs_of, "Names of the blobs that no layer reads.")
      .def_property_readonly("_bottom_names",
                             [](const NetFace& f) { return names_by_layer(f, &Net::Entry::bottom_names); })
      .def_property_readonly("_top_names", [](const NetFace& f) { return names_by_layer(f, &Net::Entry::top_names); })
      .def_property_readonly("_loss_weights", &loss_weights)
      .def("_forward", &NetFace::forward)
      .def("_backward",
           [](NetFace& face, std::size_t from, std::size_t to) { face.run([&] { face.net().backward(from, to); }); })
      .def(
          "clear_param_diffs",
          [](NetFace& face) {
            face.run([&] {
              face.net().clear_gradients();
              for (const auto& learnable : face.net().learnable()) learnable.blob->diff();
            });
          },
          "Sets the parameters' gradients to zeros.")
      .def(
          "reshape", [](NetFace& face) { face.run([&] { face.net().reshape(); }); },
          "Shapes all layers, after inputs have got other shapes.")
      .def("copy_from", &copy_from, py::arg("files"), "Copies weights from files, by layers' names.")
      .def("load_hdf5", &copy_from, py::arg("file"), "The same as copy_from.")
      .def(
          "share_with",
          [](NetFace& face, const NetFace& other) { face.run([&] { face.net().share_trained(other.net()); }); },
          "From now on the parameters are the other net's, by layers' names.")
      .def(
          "export_onnx",
          [](NetFace& face, const std::string& file, const std::vector<std::string>& outputs) {
            face.run([&] { write_onnx(face.net(), file, outputs); });
          },
          py::arg("file"), py::arg("outputs") = std::vector<std::string>(),
          "Writes an ONNX model of opset 13, weights included: the net's outputs, and these blobs.")
      .def(
          "before_forward",
          [](NetFace& face, py::function run) { face.add_callback(NetFace::before_forward, std::move(run)); },
          py::arg("run"), "Calls run(number of the layer) before each layer's forward.")
      .def(
          "after_forward",
          [](NetFace& face, py::function run) { face.add_callback(NetFace::after_forward, std::move(run)); },
          py::arg("run"), "Calls run(number of the layer) after each layer's forward.")
      .def(
          "before_backward",
          [](NetFace& face, py::function run) { face.add_callback(NetFace::before_backward, std::move(run)); },
          py::arg("run"), "Calls run(number of the layer) before each layer's backward.")
      .def(
          "after_backward",
          [](NetFace& face, py::function run) { face.add_callback(NetFace::after_backward, std::move(run)); },
          py::arg("run"), "Calls run(number of the layer) after each layer's backward.")
      .def("_save", &save)
      .def("_to_proto", &to_proto);
}

}  // namespace cortado::python
