"""Nets, with the functions of Caffe's Net."""
import os
from collections import OrderedDict

import numpy

from . import _cortado
from .proto import caffe_pb2

Net = _cortado.Net
_make = Net.__init__


def _init(self, network_file, *given, phase=None, level=0, stages=None, weights=None):
    """Net(FILE, PHASE, level=0, stages=None, weights=None), or as Caffe once had it: Net(FILE, WEIGHTS, PHASE).

    FILE may also be a NetParameter, as NetSpec.to_proto returns it.
    """
    given = list(given)
    if given and isinstance(given[0], (str, os.PathLike)):  # the old order
        weights = given.pop(0)
    asked = {"phase": phase, "level": level, "stages": stages, "weights": weights}
    too_many = len(given) > len(asked)
    phase, level, stages, weights = {**asked, **dict(zip(asked, given))}.values()
    if too_many or phase is None:
        raise TypeError("Net takes a file, a phase (cortado.TRAIN or TEST), level, stages and weights")
    is_message = hasattr(network_file, "SerializeToString")
    source = network_file.SerializeToString() if is_message else os.fspath(network_file)
    _make(self, source, int(phase), int(level or 0), list(stages or []), os.fspath(weights) if weights else "")


def _blobs(self):
    """The blobs between layers, by name, in the order of layers."""
    if "_by_name" not in self.__dict__:
        self._by_name = OrderedDict(zip(self._blob_names, self._blobs))
    return self._by_name


def _params(self):
    """The learnable blobs of each layer that has some, by the layer's name."""
    if "_params_by_layer" not in self.__dict__:
        self._params_by_layer = OrderedDict(
            (name, layer.blobs) for name, layer in zip(self._layer_names, self.layers) if len(layer.blobs) > 0)
    return self._params_by_layer


def _layer_dict(self):
    """The layers by name."""
    return OrderedDict(zip(self._layer_names, self.layers))


def _bottom_names(self):
    """The names of each layer's bottoms, by the layer's name."""
    return OrderedDict(zip(self._layer_names, self._bottom_names))


def _top_names(self):
    """The names of each layer's tops, by the layer's name."""
    return OrderedDict(zip(self._layer_names, self._top_names))


def _bottom_ids(self, layer):
    """Which of the net's blobs layer number `layer` reads."""
    return [self._blob_names.index(name) for name in self._bottom_names[layer]]


def _top_ids(self, layer):
    """Which of the net's blobs layer number `layer` writes."""
    return [self._blob_names.index(name) for name in self._top_names[layer]]


def _blob_loss_weights(self):
    """The loss weight of each blob, 0 where it is no loss."""
    return OrderedDict(self._loss_weights)


def _index(self, layer):
    names = self._layer_names
    if layer not in names:
        raise ValueError(f"the net has no layer '{layer}'; it has {', '.join(names)}")
    return names.index(layer)


def _names(blobs):
    names = [] if blobs is None else list(blobs)
    if not all(isinstance(name, str) for name in names):
        raise TypeError("give inputs by name, as forward(data=array); a list of names asks for more blobs")
    return names


def _fill(self, values, allowed, which):
    if set(values) != set(allowed):
        raise ValueError(f"the net takes {', '.join(allowed) or 'nothing'}; given: {', '.join(values) or 'nothing'}")
    for name, array in values.items():
        blob = self.blobs[name]
        if len(array) != blob.shape[0]:
            raise ValueError(f"'{name}' is a batch of {blob.shape[0]}, given {len(array)}: reshape the net, or use forward_all")
        getattr(blob, which)[...] = numpy.asarray(array).reshape(blob.shape)


def _forward(self, blobs=None, start=None, end=None, **inputs):
    """Runs layers `start` to `end`, by name, all without. Gives inputs first, by name. Returns outputs, or with `end`
    that layer's tops, and `blobs` too: a dictionary of arrays."""
    first = 0 if start is None else _index(self, start)
    last = len(self._layer_names) - 1 if end is None else _index(self, end)
    wanted = _names(blobs)
    wanted += self.outputs if end is None else self.top_names[end]
    if inputs:
        _fill(self, inputs, self.inputs, "data")
    _feed_memory(self, first)
    Net._forward(self, first, last + 1)
    return {name: self.blobs[name].data for name in dict.fromkeys(wanted)}


def _backward(self, diffs=None, start=None, end=None, **gradients):
    """Runs layers backward from `start`, the last without, down to `end`, the first without. Gives outputs' gradients
    first, by name. Returns inputs' gradients, or with `end` those of that layer's bottoms, and `diffs` too."""
    first = len(self._layer_names) - 1 if start is None else _index(self, start)
    last = 0 if end is None else _index(self, end)
    wanted = _names(diffs)
    wanted += self.inputs if end is None else self.bottom_names[end]
    if gradients:
        allowed = self.outputs if start is None else self.top_names[start]
        _fill(self, gradients, allowed, "diff")
    Net._backward(self, last, first + 1)
    return {name: self.blobs[name].diff for name in dict.fromkeys(wanted)}


def _batches(self, values):
    """`values` by batches of the net's size, the last one filled up with zeros; and how many are real in each."""
    size = self.blobs[next(iter(values))].shape[0]
    total = len(next(iter(values.values())))
    for begin in range(0, total, size):
        real = min(size, total - begin)
        batch = {}
        for name, array in values.items():
            part = numpy.asarray(array[begin:begin + size])
            missing = numpy.zeros((size - real,) + part.shape[1:], part.dtype)
            batch[name] = numpy.concatenate([part, missing]) if real < size else part
        yield batch, real


def _joined(parts_by_name):
    """One array of all batches, by name; of numbers, an array with one for each batch."""
    return {name: numpy.concatenate(parts) if parts[0].ndim else numpy.asarray(parts)
            for name, parts in parts_by_name.items()}


def _keep(values, real, parts_by_name):
    """Adds a batch's arrays to those of the batches before it, without what filled it up."""
    for name, array in values.items():
        parts_by_name.setdefault(name, []).append(array[:real].copy() if array.ndim else array.copy())


def _forward_all(self, blobs=None, **inputs):
    """forward over any number of samples, batch by batch. Returns arrays of all samples, by blob."""
    all_outputs = {}
    for batch, real in _batches(self, inputs):
        _keep(self.forward(blobs=blobs, **batch), real, all_outputs)
    return _joined(all_outputs)


def _forward_backward_all(self, blobs=None, diffs=None, **values):
    """forward and backward over any number of samples. `values` has inputs, and outputs' gradients. Returns two
    dictionaries: of blobs' values and of gradients."""
    all_outputs, all_diffs = {}, {}
    inputs = {name: values[name] for name in self.inputs if name in values}
    gradients = {name: array for name, array in values.items() if name not in inputs}
    gradient_batches = _batches(self, gradients) if gradients else None
    for batch, real in _batches(self, inputs):
        _keep(self.forward(blobs=blobs, **batch), real, all_outputs)
        given = next(gradient_batches)[0] if gradient_batches else {}
        _keep(self.backward(diffs=diffs, **given), real, all_diffs)
    return _joined(all_outputs), _joined(all_diffs)


def _set_input_arrays(self, data, labels):
    """The samples of the net's MemoryData layer: forward takes the next batch of them, and begins anew at the end."""
    layers = [name for name, kind in zip(self._layer_names, (layer.type for layer in self.layers)) if kind == "MemoryData"]
    if not layers:
        raise RuntimeError("set_input_arrays: the net has no MemoryData layer")
    data, labels = numpy.ascontiguousarray(data, numpy.float32), numpy.ascontiguousarray(labels, numpy.float32)
    top = [self.blobs[name] for name in self.top_names[layers[0]]]
    if data.ndim != 4 or data.shape[1:] != top[0].shape[1:]:
        raise ValueError(f"set_input_arrays: samples have shape {data.shape[1:]}, the layer's {top[0].shape[1:]}")
    if len(data) != len(labels) or len(data) % top[0].shape[0] != 0:
        raise ValueError(f"set_input_arrays: {len(data)} samples and {len(labels)} labels; give as many of both, and a "
                         f"multiple of the batch, {top[0].shape[0]}")
    self._memory = (top, data, labels.reshape(len(data)), [0])


def _feed_memory(self, first):
    memory = self.__dict__.get("_memory")
    if memory is None or first > 0:
        return
    (data_blob, label_blob), data, labels, at = memory
    size = data_blob.shape[0]
    begin = at[0] % len(data)
    data_blob.data[...] = data[begin:begin + size]
    label_blob.data[...] = labels[begin:begin + size].reshape(label_blob.shape)
    at[0] += size


def _save(self, file, write_diff=False):
    """Writes the weights as a .caffemodel; `write_diff`: their gradients too."""
    Net._save(self, os.fspath(file), False, write_diff)


def _save_hdf5(self, file, write_diff=False):
    """Writes the weights as a .caffemodel.h5."""
    Net._save(self, os.fspath(file), True, write_diff)


def _to_proto(self, write_diff=False):
    """The net with its weights, as a NetParameter."""
    return caffe_pb2.NetParameter.FromString(Net._to_proto(self, write_diff))


Net.__init__ = _init
Net.blobs = property(_blobs, doc=_blobs.__doc__)
Net.params = property(_params, doc=_params.__doc__)
Net.layer_dict = property(_layer_dict, doc=_layer_dict.__doc__)
Net.bottom_names = property(_bottom_names, doc=_bottom_names.__doc__)
Net.top_names = property(_top_names, doc=_top_names.__doc__)
Net.blob_loss_weights = property(_blob_loss_weights, doc=_blob_loss_weights.__doc__)
Net._bottom_ids = _bottom_ids
Net._top_ids = _top_ids
Net._inputs = property(lambda self: [self._blob_names.index(name) for name in self.inputs])
Net._outputs = property(lambda self: [self._blob_names.index(name) for name in self.outputs])
Net.forward = _forward
Net.backward = _backward
Net.forward_all = _forward_all
Net.forward_backward_all = _forward_backward_all
Net.set_input_arrays = _set_input_arrays
Net.save = _save
Net.save_hdf5 = _save_hdf5
Net.to_proto = _to_proto
