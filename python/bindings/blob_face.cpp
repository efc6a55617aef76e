#include "python/bindings/blob_face.h"

#include <pybind11/stl.h>

namespace cortado::python {
namespace {
/// Sets all values from something that numpy can spread over the blob's shape.
void assign(const BlobFace& face, Part which, const py::object& values) { face.array(which)[py::ellipsis()] = values; }

}  // namespace

Shape shape_of(const py::args& dimensions) {
  const bool is_sequence = dimensions.size() == 1 && py::isinstance<py::sequence>(dimensions[0]);
  const py::sequence numbers = is_sequence ? py::sequence(dimensions[0]) : py::sequence(dimensions);
  Shape shape;
  for (const py::handle number : numbers) {
    const py::object whole = py::reinterpret_steal<py::object>(PyNumber_Index(number.ptr()));
    if (!whole) throw py::error_already_set();
    shape.push_back(whole.cast<i64>());
  }
  return shape;
}

void bind_blobs(py::module_& module) {
  py::class_<BlobFace>(module, "Blob", "Part and their gradient. Arrays follow the blob; see docs/use/python.md.")
      .def_property(
          "data", [](const BlobFace& face) { return face.array(Part::data); },
          [](const BlobFace& face, const py::object& values) { assign(face, Part::data, values); },
          "The values: float32 in Caffe's order.")
      .def_property(
          "diff", [](const BlobFace& face) { return face.array(Part::diff); },
          [](const BlobFace& face, const py::object& values) { assign(face, Part::diff, values); },
          "The gradient, in the values' shape.")
      .def_property_readonly("shape", [](const BlobFace& face) { return py::tuple(py::cast(face.blob().shape())); })
      .def_property_readonly("count", [](const BlobFace& face) { return face.blob().count(); })
      .def_property_readonly("num", [](const BlobFace& face) { return face.legacy(0); })
      .def_property_readonly("channels", [](const BlobFace& face) { return face.legacy(1); })
      .def_property_readonly("height", [](const BlobFace& face) { return face.legacy(2); })
      .def_property_readonly("width", [](const BlobFace& face) { return face.legacy(3); })
      .def(
          "reshape", [](const BlobFace& face, const py::args& shape) { face.blob().reshape(shape_of(shape)); },
          "Gives the blob this shape. Net.reshape() then shapes the layers behind it.");
}

}  // namespace cortado::python
