"""Layers that are written in Python: the base of their classes."""
import importlib

from .proto import caffe_pb2


class Layer:
    """A layer of type Python. A net's text names the class: python_param { module: "..." layer: "..." param_str: "..." }.

    Subclasses define the functions below. `bottom` and `top` are lists of Blob, whose `data` and `diff` are numpy
    arrays of float32. `self.blobs.add_blob(shape...)` makes learnable blobs within setup. self.param_str is the text
    of the net, self.phase is TRAIN or TEST.
    """

    type = "Python"

    def setup(self, bottom, top):
        """Once, before the first reshape."""

    def reshape(self, bottom, top):
        """Shapes the tops: top[0].reshape(...). Before every forward, and whenever a bottom has another shape."""
        raise NotImplementedError(f"{type(self).__name__} has no reshape")

    def forward(self, bottom, top):
        """Fills top[i].data."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def backward(self, top, propagate_down, bottom):
        """Fills bottom[i].diff where propagate_down[i] holds, and adds to self.blobs[i].diff."""
        if any(propagate_down):
            raise NotImplementedError(f"{type(self).__name__} has no backward")


def make(module, name, param_str, parameter, tests):
    """The object of a layer, for the bindings; `parameter` is a LayerParameter as bytes."""
    cls = getattr(importlib.import_module(module), name)
    made = cls.__new__(cls)
    made.param_str = param_str
    made.phase = caffe_pb2.TEST if tests else caffe_pb2.TRAIN
    made.layer_param = caffe_pb2.LayerParameter.FromString(parameter)
    try:
        made.__init__(made.layer_param)  # as Caffe calls it
    except TypeError:
        made.__init__()
    return made
