"""Coordinate maps, held against where a convolution of one element really puts it."""

import unittest

import numpy as np

from cortado.coord_map import (AxisMismatchException, UndefinedMapException, compose, coord_map, coord_map_from_to,
                               crop, inverse)
from cortado.net_spec import layers as L


def data():
    return L.Input(shape=dict(dim=[1, 1, 60, 60]))


def centre_of_window(place, kernel, stride, pad, dilation):
    """The coordinate in the input of the middle of the window of output `place`."""
    taps = place * stride - pad + dilation * np.arange(kernel)
    return taps.mean()


class CoordMapTest(unittest.TestCase):
    def assert_map(self, found, axis, scale, shift):
        self.assertEqual(found[0], axis)
        np.testing.assert_allclose(np.broadcast_to(found[1], np.shape(scale)), scale)
        np.testing.assert_allclose(np.broadcast_to(found[2], np.shape(shift)), shift)

    def test_windows_are_where_their_middle_is(self):
        for kernel, stride, pad, dilation in ((1, 1, 0, 1), (3, 2, 1, 1), (4, 3, 2, 1), (3, 1, 0, 4)):
            words = dict(kernel_size=kernel, stride=stride, pad=pad)
            for top in (L.Convolution(data(), num_output=1, dilation=dilation, **words),
                        L.Im2col(data(), convolution_param=dict(dilation=dilation, **words)),
                        L.Pooling(data(), **words) if dilation == 1 else None):
                if top is None:
                    continue
                axis, scale, shift = coord_map(top.fn)
                self.assertEqual(axis, 1)
                for place in range(4):
                    self.assertAlmostEqual(
                        float(scale * centre_of_window(place, kernel, stride, pad, dilation) + shift), place)

    def test_deconvolution_is_the_inverse(self):
        words = dict(kernel_size=[4, 3], stride=[2, 1], pad=[1, 0])
        down = coord_map(L.Convolution(data(), num_output=1, **words).fn)
        up = coord_map(L.Deconvolution(data(), convolution_param=dict(num_output=1, **words)).fn)
        self.assert_map(inverse(down), *up)
        self.assert_map(compose(up, down), 1, [1, 1], [0, 0])

    def test_paths_are_composed(self):
        x = data()
        y = L.Convolution(L.Pooling(L.ReLU(x), kernel_size=2, stride=2), num_output=1, kernel_size=3, pad=1)
        self.assert_map(coord_map_from_to(x, y), 1, [0.5], [-0.25])
        self.assert_map(coord_map_from_to(y, x), 1, [2], [0.5])
        left, right = L.Convolution(x, num_output=1, kernel_size=5), L.Convolution(x, num_output=1, kernel_size=1)
        self.assert_map(coord_map_from_to(right, left), 1, [1], [-2])
        self.assert_map(coord_map_from_to(L.Dropout(left), left), None, 1, 0)

    def test_crops_shift(self):
        x = data()
        y = L.Crop(x, L.Input(shape=dict(dim=[1, 1, 9, 9])), axis=2, offset=[3, 4])
        self.assert_map(coord_map_from_to(y, x), 1, [1, 1], [3, 4])
        with self.assertRaises(RuntimeError):
            coord_map_from_to(y, y.fn.inputs[1])

    def test_crop_puts_the_offset(self):
        x = data()
        y = L.Convolution(x, num_output=1, kernel_size=[5, 7])
        made = crop(x, y).fn
        self.assertEqual((made.type_name, made.inputs), ('Crop', (x, y)))
        self.assertEqual(made.params, dict(crop_param=dict(axis=2, offset=[2, 3])))
        self.assertEqual(crop(x, L.ReLU(x)).fn.params, dict(crop_param=dict(axis=2, offset=[0])))

    def test_what_cannot_be_cropped_is_named(self):
        x = data()
        for top, words in ((L.Pooling(x, kernel_size=2, stride=2), 'scales of the tops differ'),
                           (L.Convolution(x, num_output=1, kernel_size=1, pad=3), 'offset is negative'),
                           (L.Convolution(x, num_output=1, kernel_size=2), 'no whole number'),
                           (L.Convolution(x, num_output=1, kernel_size=3, pad_h=2), 'does not support pad_h')):
            with self.assertRaisesRegex(AssertionError, words):
                crop(x, top)

    def test_tops_without_a_map(self):
        x = data()
        with self.assertRaises(UndefinedMapException):
            coord_map(L.InnerProduct(x, num_output=1).fn)
        with self.assertRaisesRegex(RuntimeError, 'no map between the tops'):
            coord_map_from_to(L.InnerProduct(x, num_output=1), x)
        with self.assertRaises(AxisMismatchException):
            compose((1, 1, 0), (2, 1, 0))


if __name__ == '__main__':
    unittest.main()
