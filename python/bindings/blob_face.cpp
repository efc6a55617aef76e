#include "python/bindings/blob_face.h"

#include <pybind11/stl.h>

namespace cortado::python {
namespace {
/// Sets all values from something that numpy can spread over the blob's shape.
void assign(const BlobFace& face, Part which, const py::object& values) { face.array(which)[py::ellipsis()] = values; }

void reshape(const BlobFace& face, const py::args& dimensions) {
  Shape shape;
  for (const auto& dimension : dimensions) shape.push_back(dimension.cast<i64>());
  face.blob().reshape(shape);
}
}  // namespace

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
      .def("reshape", &reshape, "Gives the blob this shape. Net.reshape() then shapes the layers behind it.");
}

}  // namespace cortado::python
