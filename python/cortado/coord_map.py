"""Maps from the places of a blob's elements to places in another blob, and the Crop layer that aligns the two.

A map is (axis, scale, shift): coordinate x of the input is coordinate scale * x + shift of the output. Scale and shift
are arrays with an element for each spatial axis, or with one for all; `axis` is the last one before these. Layers that
work element by element have the map (None, 1, 0), which fits every axis.
"""

from collections import deque

import numpy as np

from .net_spec import layers

PASS_THROUGH_LAYERS = ['AbsVal', 'BatchNorm', 'Bias', 'BNLL', 'Clip', 'Dropout', 'Eltwise', 'ELU', 'Exp', 'Log', 'LRN',
                       'MVN', 'Power', 'PReLU', 'ReLU', 'Scale', 'Sigmoid', 'Split', 'Swish', 'TanH', 'Threshold']


class UndefinedMapException(Exception):
    """A layer's outputs have no coordinates in its inputs."""


class AxisMismatchException(Exception):
    """Two maps that follow each other are of different axes."""


def conv_params(fn):
    """(axis, stride, window, pad) of a layer that moves a window; the window is the kernel with its holes."""
    own = fn.params.get('pooling_param' if fn.type_name == 'Pooling' else 'convolution_param', fn.params)
    by_side = sorted({'kernel_h', 'kernel_w', 'stride_h', 'stride_w', 'pad_h', 'pad_w'} & set(own))
    if by_side:
        raise AssertionError(f'{fn.type_name}: cropping does not support {", ".join(by_side)}; give lists instead')
    kernel, dilation, stride, pad = (
        np.array(own[name] if default is None else own.get(name, default), ndmin=1)
        for name, default in (('kernel_size', None), ('dilation', 1), ('stride', 1), ('pad', 0)))
    return own.get('axis', 1), stride, (kernel - 1) * dilation + 1, pad


def crop_params(fn):
    """(axis, offset) of a Crop layer."""
    own = fn.params.get('crop_param', fn.params)
    return own.get('axis', 2), np.array(own.get('offset', 0), ndmin=1)


def coord_map(fn):
    """The map from the input of the layer `fn` to its output; throws UndefinedMapException if there is none."""
    if fn.type_name in PASS_THROUGH_LAYERS:
        return None, 1, 0
    if fn.type_name in ('Convolution', 'Pooling', 'Im2col'):
        axis, stride, window, pad = conv_params(fn)
        return axis, 1 / stride, (pad - (window - 1) / 2) / stride
    if fn.type_name == 'Deconvolution':
        axis, stride, window, pad = conv_params(fn)
        return axis, stride, (window - 1) / 2 - pad
    if fn.type_name == 'Crop':
        axis, offset = crop_params(fn)
        return axis - 1, 1, -offset
    raise UndefinedMapException(f'a layer of type {fn.type_name} maps no coordinates')


def compose(base_map, next_map):
    """The map that `base_map` makes of the result of `next_map`; throws AxisMismatchException if their axes differ."""
    base_axis, base_scale, base_shift = base_map
    next_axis, next_scale, next_shift = next_map
    if base_axis is not None and next_axis is not None and base_axis != next_axis:
        raise AxisMismatchException(f'maps of the axes {base_axis} and {next_axis} follow each other')
    axis = next_axis if base_axis is None else base_axis
    return axis, base_scale * next_scale, base_scale * next_shift + base_shift


def inverse(coord_map):
    """The map from output to input."""
    axis, scale, shift = coord_map
    return axis, 1 / scale, -shift / scale


def _maps_to(top):
    """(blob, map from it to `top`) for `top` and all blobs before it that have a map, the nearest first."""
    seen, waiting = {top}, deque([(top, (None, 1, 0))])
    while waiting:
        blob, after = waiting.popleft()
        yield blob, after
        fn = blob.fn
        bottoms = fn.inputs[:1] if fn.type_name == 'Crop' else fn.inputs  # Crop's second bottom gives a shape alone
        try:
            through = compose(after, coord_map(fn)) if bottoms else None
        except UndefinedMapException:
            continue
        for bottom in bottoms:
            if bottom not in seen:
                seen.add(bottom)
                waiting.append((bottom, through))


def coord_map_from_to(top_from, top_to):
    """The map from `top_from` to `top_to`, through the nearest blob of which both are made.

    Throws RuntimeError if there is no such blob, or if layers between have no map.
    """
    maps_from = dict(_maps_to(top_from))
    for blob, map_to in _maps_to(top_to):
        if blob in maps_from:
            return compose(map_to, inverse(maps_from[blob]))
    raise RuntimeError('there is no map between the tops: no spatial layers connect them')


def crop(top_from, top_to):
    """A Crop layer that cuts `top_from` to the size and place of `top_to`.

    Throws AssertionError if the two differ in scale, or if the place is outside `top_from` or between its elements.
    """
    axis, scale, shift = coord_map_from_to(top_from, top_to)
    scale, shift = np.array(scale, ndmin=1), np.array(shift, ndmin=1)
    for wrong, what in (((scale != 1).any(), f'the scales of the tops differ by {scale}'),
                        ((shift > 0).any(), f'the offset is negative: {-shift}'),
                        ((np.round(shift) != shift).any(), f'the offset is no whole number: {-shift}')):
        if wrong:
            raise AssertionError('cannot crop: ' + what)
    offset = [int(value) for value in -np.round(shift)]
    return layers.Crop(top_from, top_to, crop_param=dict(axis=2 if axis is None else axis + 1, offset=offset))
