"""Pictures of nets, by Graphviz.

Layers are boxes with name, type and parameters; blobs are ellipses. A layer's result in place is an ellipse of its own,
as `cortado draw` has it.
"""

import os
import shutil
import subprocess

from .proto import caffe_pb2

COLOURS = {'Convolution': '#f4b6a6', 'Deconvolution': '#f4b6a6', 'InnerProduct': '#c9b5e3', 'Pooling': '#f8d79b',
           'BatchNorm': '#bfe3c0', 'Scale': '#bfe3c0', 'LRN': '#bfe3c0', 'ReLU': '#d9ead3', 'Dropout': '#d9ead3'}
LEARNS = ('Convolution', 'Deconvolution', 'InnerProduct')
TEXT = ('raw', 'dot', 'gv')


class Graph:
    """A picture as text in Graphviz's language; it has what programs call of pydot.Dot."""

    def __init__(self, text):
        self._text = text

    def to_string(self):
        """The text."""
        return self._text

    def create(self, prog='dot', format='ps'):
        """The picture as bytes, made by the program `prog`; the text's bytes if `format` is raw, dot or gv.

        Throws FileNotFoundError if the program is absent, and ValueError if it refuses, with its words.
        """
        if format in TEXT:
            return self._text.encode()
        program = shutil.which(prog)
        if program is None:
            raise FileNotFoundError(f'a {format} is made by Graphviz\'s {prog}, which is not installed '
                                    '(Debian: graphviz); or write a .dot')
        done = subprocess.run([program, '-T' + format], input=self._text.encode(), capture_output=True)
        if done.returncode:
            raise ValueError(f'{prog} makes no {format}: {done.stderr.decode(errors="replace").strip()}')
        return done.stdout

    def write(self, path, prog='dot', format='raw'):
        """Writes what create returns to the file `path`."""
        picture = self.create(prog, format)  # before the file is opened: it stays as it is if that fails
        with open(path, 'wb') as file:
            file.write(picture)
        return True


def get_pooling_types_dict():
    """The names of pooling methods by their numbers: 0 is MAX."""
    return {number: name for name, number in caffe_pb2.PoolingParameter.PoolMethod.items()}


def get_edge_label(layer):
    """The label of a layer's results: the batch size of data, the number of outputs, else '""'."""
    if layer.type == 'Data':
        return f'Batch {layer.data_param.batch_size}'
    if layer.type in ('Convolution', 'Deconvolution'):
        return str(layer.convolution_param.num_output)
    if layer.type == 'InnerProduct':
        return str(layer.inner_product_param.num_output)
    return '""'


def get_layer_lr_mult(layer):
    """The factors (of weights, of biases) on the learning rate; a layer of another type than LEARNS is a ValueError."""
    if layer.type not in LEARNS:
        raise ValueError(f'{layer.type} layers do not have a learning rate multiplier')
    if len(layer.param) > 2:
        raise ValueError(f'{layer.name} has {len(layer.param)} learning rate multipliers; it learns weights and biases')
    return tuple([param.lr_mult for param in layer.param] + [1.0, 1.0])[:2]


def _sizes(parameter, name, unset):
    """A window's size, stride or pad, "3" or "3x5": `name` may be repeated, or be given as NAME_h and NAME_w."""
    side = 'kernel' if name == 'kernel_size' else name
    if parameter.HasField(side + '_h') or parameter.HasField(side + '_w'):
        return f'{getattr(parameter, side + "_h")}x{getattr(parameter, side + "_w")}'
    value = getattr(parameter, name)
    return str(value) if isinstance(value, int) else 'x'.join(map(str, value)) or str(unset)


def _escaped(text):
    return text.replace('\\', '\\\\').replace('"', '\\"').replace('\n', '\\n')


def get_layer_label(layer, rankdir, display_lrm=False):
    """A layer's label, between double quotes: name, type, windows and, with `display_lrm`, factors on the rate.

    They stand side by side if the picture grows up or down (`rankdir` TB or BT), else below each other.
    """
    words = [_escaped(layer.name), f'({_escaped(layer.type)})']
    if layer.type == 'Pooling':
        words[1] = f'(Pooling {get_pooling_types_dict()[layer.pooling_param.pool]})'
    if layer.type in ('Convolution', 'Deconvolution', 'Pooling'):
        own = layer.pooling_param if layer.type == 'Pooling' else layer.convolution_param
        words += [f'kernel size: {_sizes(own, "kernel_size", 1)}', f'stride: {_sizes(own, "stride", 1)}',
                  f'pad: {_sizes(own, "pad", 0)}']
    if display_lrm and layer.type in LEARNS and any(get_layer_lr_mult(layer)):
        words.append('lr mult: %.1f, %.1f' % get_layer_lr_mult(layer))
    return '"' + (' ' if rankdir in ('TB', 'BT') else r'\n').join(words) + '"'


def choose_color_by_layertype(layertype):
    """The colour of a layer's box, "#rrggbb"."""
    return COLOURS.get(layertype, '#a9cbe8')


def _is_in(layer, phase):
    """True if the net has the layer in `phase`; None means every phase. Levels and stages are not looked at."""
    if phase is None:
        return True
    if layer.include and layer.exclude:
        raise ValueError(f'layer {layer.name} has both include and exclude specified')
    if layer.include:
        return any(not rule.HasField('phase') or rule.phase == phase for rule in layer.include)
    return not any(rule.HasField('phase') and rule.phase == phase for rule in layer.exclude)


def get_pydot_graph(caffe_net, rankdir, label_edges=True, phase=None, display_lrm=False):
    """The Graph of the layers that the NetParameter has in `phase`, by default of all.

    `rankdir` is the direction in which it grows: LR, TB, BT or RL. With `label_edges` a layer's results have the label
    of get_edge_label.
    """
    lines, nodes, blobs = [], {}, 0

    def add_blob(name):
        nonlocal blobs
        nodes[name] = f'blob{blobs}'
        blobs += 1
        lines.append(f'  {nodes[name]} [shape=ellipse, label="{_escaped(name)}"];')

    for number, layer in enumerate(layer for layer in caffe_net.layer if _is_in(layer, phase)):
        colour = choose_color_by_layertype(layer.type) if layer.bottom else '#cccccc'
        lines.append(f'  layer{number} [shape=box, style=filled, fillcolor="{colour}", '
                     f'label={get_layer_label(layer, rankdir, display_lrm)}];')
        for bottom in layer.bottom:
            if bottom not in nodes:
                add_blob(bottom)
            lines.append(f'  {nodes[bottom]} -> layer{number};')
        label = get_edge_label(layer) if label_edges else '""'
        for top in layer.top:
            add_blob(top)
            lines.append(f'  layer{number} -> {nodes[top]}' + (';' if label == '""' else f' [label="{label}"];'))
    return Graph(f'digraph "{_escaped(caffe_net.name or "Net")}" {{\n  rankdir={rankdir};\n'
                 '  node [fontname="Helvetica"];\n  edge [fontname="Helvetica"];\n' + '\n'.join(lines) + '\n}\n')


def draw_net(caffe_net, rankdir, ext='png', phase=None, display_lrm=False):
    """The picture of a NetParameter as bytes, in the format `ext`; the others are those of get_pydot_graph."""
    return get_pydot_graph(caffe_net, rankdir, phase=phase, display_lrm=display_lrm).create(format=ext)


def draw_net_to_file(caffe_net, filename, rankdir='LR', phase=None, display_lrm=False):
    """Writes the picture of a NetParameter to a file, in the format that its ending names; .dot and .raw are text."""
    graph = get_pydot_graph(caffe_net, rankdir, phase=phase, display_lrm=display_lrm)
    graph.write(filename, format=os.path.splitext(filename)[1][1:] or 'raw')
