"""Nets written in Python: a layer is a call, its result the blobs that it writes.

    n = NetSpec()
    n.data = layers.Input(shape=dict(dim=[1, 3, 8, 8]))
    n.conv = layers.Convolution(n.data, num_output=4, kernel_size=3)
    n.relu = layers.ReLU(n.conv, in_place=True)
    print(n.to_proto())

A layer's arguments are fields of its own message, here ConvolutionParameter, else of LayerParameter. Layers that read
another type's message take it whole: layers.Deconvolution(x, convolution_param=dict(num_output=4, kernel_size=2)).
"""

from collections import Counter

from .proto import caffe_pb2


def param_name_dict():
    """For each layer type with a message of its own, the field of LayerParameter that holds it, without "_param"."""
    return {field.message_type.name[:-len('Parameter')]: field.name[:-len('_param')]
            for field in caffe_pb2.LayerParameter.DESCRIPTOR.fields if field.name.endswith('_param')}


def to_proto(*tops):
    """The NetParameter of all layers that `tops` need; names are made of type and number, "Convolution1"."""
    return _net_of(tops, {})


def assign_proto(proto, name, val):
    """Sets the field `name` of the message `proto` to `val`.

    A dict fills a message field by field; a list or tuple fills a repeated field. A single value for a repeated field
    is a list of one. Throws AttributeError if the message has no such field.
    """
    if name not in proto.DESCRIPTOR.fields_by_name:
        raise AttributeError(f'{proto.DESCRIPTOR.name} has no field "{name}"')
    field = getattr(proto, name)
    if hasattr(field, 'extend'):
        for value in val if isinstance(val, (list, tuple)) else [val]:
            if isinstance(value, dict):
                _assign_all(field.add(), value)
            else:
                field.extend([value])
    elif isinstance(val, dict):
        _assign_all(field, val)
    else:
        setattr(proto, name, val)


def _assign_all(proto, values):
    for name, value in values.items():
        assign_proto(proto, name, value)


class Top:
    """Top `n` of the layer `fn`: a blob."""

    def __init__(self, fn, n):
        self.fn = fn
        self.n = n

    def to_proto(self):
        """The NetParameter of all layers that this blob needs."""
        return to_proto(self)


class Function:
    """A layer: its type, the Tops that it reads, and its parameters by name.

    Two parameters are no fields: `ntop`, the number of tops (1), and `in_place`, whether they are the bottoms (False).
    """

    def __init__(self, type_name, inputs, params):
        for index, bottom in enumerate(inputs):
            if not isinstance(bottom, Top):
                raise TypeError(f'{type_name} input {index} is not a Top (type is {type(bottom)})')
        self.type_name = type_name
        self.inputs = inputs
        self.params = params
        self.ntop = params.pop('ntop', 1)
        self.in_place = params.pop('in_place', False)
        self.tops = tuple(Top(self, n) for n in range(self.ntop))

    def _to_proto(self, made, names, counts):
        """The layer's message; `made` has those that it reads. Names that are new are put into `names`."""
        def name_of(thing):
            if thing not in names:
                counts[self.type_name] += 1
                names[thing] = f'{self.type_name}{counts[self.type_name]}'
            return names[thing]

        layer = caffe_pb2.LayerParameter(type=self.type_name)
        layer.bottom.extend(made[bottom.fn].top[bottom.n] for bottom in self.inputs)
        layer.top.extend(layer.bottom if self.in_place else [name_of(top) for top in self.tops])
        layer.name = names[self] if self in names else name_of(self.tops[0] if self.tops else self)
        own_name = _param_names.get(self.type_name)
        own_fields = getattr(layer, own_name + '_param').DESCRIPTOR.fields_by_name if own_name else {}
        for name, value in self.params.items():
            if name in own_fields and not name.endswith('param'):
                assign_proto(getattr(layer, own_name + '_param'), name, value)
            elif name in layer.DESCRIPTOR.fields_by_name:
                assign_proto(layer, name, value)
            else:
                raise AttributeError(f'{layer.name}: a layer of type {self.type_name} has no parameter "{name}"')
        return layer


def _net_of(tops, names):
    """The NetParameter of all layers that `tops` need, each behind those it reads; `names` of Tops and Functions."""
    made, counts = {}, Counter()
    for top in tops:
        waiting = [top if isinstance(top, Function) else top.fn]
        while waiting:  # not recursive: nets may be deeper than Python's stack
            fn = waiting[-1]
            before = next((bottom.fn for bottom in fn.inputs if bottom.fn not in made), None)
            if before is not None:
                waiting.append(before)
                continue
            waiting.pop()
            if fn not in made:
                made[fn] = fn._to_proto(made, names, counts)
    net = caffe_pb2.NetParameter()
    net.layer.extend(made.values())
    return net


class NetSpec:
    """A net whose blobs are attributes, or items: n.conv1 = layers.Convolution(n.data, ...).

    A blob has the attribute's name, and so has the layer whose first top it is. Layers without tops are assigned too.
    """

    def __init__(self):
        super().__setattr__('tops', {})

    def __setattr__(self, name, value):
        if not isinstance(value, (Top, Function)):
            raise TypeError(f'{name} is not a Top (type is {type(value)}); a layer of several has as many names: '
                            'n.data, n.label = layers.Data(..., ntop=2)')
        self.tops[name] = value

    def __getattr__(self, name):
        if name == 'tops' or name not in self.tops:  # "tops" before __init__: a copy is being made
            raise AttributeError(f'the net has no blob "{name}"')
        return self.tops[name]

    def __setitem__(self, key, value):
        setattr(self, key, value)

    def __getitem__(self, item):
        return self.tops[item]

    def to_proto(self):
        """The NetParameter of all layers that the assigned blobs need, in the order of assignment."""
        return _net_of(self.tops.values(), {top: name for name, top in self.tops.items()})


class Layers:
    """A function for each layer type: layers.Convolution(bottom, num_output=4, kernel_size=3).

    A function returns the layer's Top; a tuple of them, if it has several; the Function, if it has none. Any name is a
    type: whether there is such a layer, the net says.
    """

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)

        def layer(*args, **kwargs):
            fn = Function(name, args, kwargs)
            if fn.ntop == 0:
                return fn
            return fn.tops[0] if fn.ntop == 1 else fn.tops
        return layer


class Parameters:
    """The values that parameters can have: params.Pooling.MAX is PoolingParameter's MAX."""

    def __getattr__(self, name):
        message = getattr(caffe_pb2, name + 'Parameter', None)
        if message is None:
            raise AttributeError(f'there is no message {name}Parameter')
        return message


_param_names = param_name_dict()
layers = Layers()
params = Parameters()
