#pragma once
#include "core/net/layer_table.h"
#include "python/bindings/interpreter.h"

namespace cortado::python {

/// Adds the layer type Python, whose layers are classes of the user's.
void add_python_layers(LayerTable& layers);

/// The user's object, where a layer is of type Python; else nullptr.
py::object python_object(const Layer& layer);

/// Binds `self.blobs`, by which a Python layer's setup makes its parameters.
void bind_python_layers(py::module_& module);

}  // namespace cortado::python
