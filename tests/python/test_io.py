"""Messages as arrays, images, and a net's input, held against plain numpy."""

import os
import sys
import tempfile
import types
import unittest
from unittest import mock

import numpy as np

from cortado import io
from cortado.proto import caffe_pb2

try:
    import PIL.Image
except ImportError:
    PIL = None

random = np.random.default_rng(7)


class MessageTest(unittest.TestCase):
    def test_blobs_of_any_rank_come_back(self):
        for shape in ((), (3,), (2, 3), (2, 1, 3, 4, 2)):
            values, diff = random.random((2,) + shape).astype(np.float32)
            blob = io.array_to_blobproto(np.asarray(values), diff=np.asarray(diff))
            self.assertEqual(tuple(blob.shape.dim), shape)
            np.testing.assert_array_equal(io.blobproto_to_array(blob), values)
            np.testing.assert_array_equal(io.blobproto_to_array(blob, return_diff=True), diff)

    def test_blobs_of_old_files_and_of_doubles(self):
        old = caffe_pb2.BlobProto(num=1, channels=2, height=1, width=3, data=range(6))
        np.testing.assert_array_equal(io.blobproto_to_array(old), np.arange(6).reshape(1, 2, 1, 3))
        doubles = caffe_pb2.BlobProto(shape=dict(dim=[2]), double_data=[0.1, 0.2], double_diff=[0.3, 0.4])
        np.testing.assert_array_equal(io.blobproto_to_array(doubles), [0.1, 0.2])
        np.testing.assert_array_equal(io.blobproto_to_array(doubles, True), [0.3, 0.4])
        with self.assertRaises(ValueError):
            io.blobproto_to_array(caffe_pb2.BlobProto(data=[1, 2], shape=dict(dim=[3])))

    def test_lists_of_blobs_come_back(self):
        arrays = [random.random((2, 3)), np.arange(4.0)]
        back = io.blobprotovector_str_to_arraylist(io.arraylist_to_blobprotovector_str(arrays))
        for was, is_ in zip(arrays, back):
            np.testing.assert_array_equal(is_, was.astype(np.float32))
        self.assertEqual(len(back), 2)

    def test_datums_come_back(self):
        pixels = random.integers(0, 256, (3, 4, 5), dtype=np.uint8)
        for array in (pixels, pixels.transpose(0, 2, 1), pixels / 256):
            datum = io.array_to_datum(array, label=9)
            back = io.datum_to_array(caffe_pb2.Datum.FromString(datum.SerializeToString()))
            np.testing.assert_array_equal(back, array)
            self.assertEqual((datum.label, back.dtype), (9, array.dtype))
            back[0] = 0  # is the caller's own
        self.assertFalse(io.array_to_datum(pixels).HasField('label'))

    def test_what_is_no_datum_is_refused(self):
        with self.assertRaisesRegex(ValueError, 'channels x height x width'):
            io.array_to_datum(np.zeros((2, 2)))
        with self.assertRaisesRegex(ValueError, 'compressed'):
            io.datum_to_array(caffe_pb2.Datum(encoded=True, data=b'x'))


def plain_resize(image, size, corners):
    """The definition: each pixel from four, one after the other."""
    least, out = image.min(), np.empty(size + image.shape[2:])
    for place in np.ndindex(size):
        if corners:
            y, x = ((p + 0.5) * old / new - 0.5 for p, old, new in zip(place, image.shape, size))
        else:
            y, x = (p * (old - 1) / max(new - 1, 1) for p, old, new in zip(place, image.shape, size))
        total = 0
        for j in (int(np.floor(y)), int(np.floor(y)) + 1):
            for i in (int(np.floor(x)), int(np.floor(x)) + 1):
                inside = 0 <= j < image.shape[0] and 0 <= i < image.shape[1]
                total = total + (1 - abs(y - j)) * (1 - abs(x - i)) * (image[j, i] if inside else least)
        out[place] = total
    return out


class ResizeTest(unittest.TestCase):
    def test_equals_the_definition(self):
        for channels in (1, 2, 3, 5):
            image = random.random((5, 7, channels)).astype(np.float32) - 0.5
            for size in ((5, 7), (10, 14), (3, 4), (1, 1), (4, 9)):
                made = io.resize_image(image, size)
                self.assertEqual((made.shape, made.dtype), (size + (channels,), np.float32))
                np.testing.assert_allclose(made, plain_resize(image, size, channels in (1, 3)), atol=1e-6)

    def test_known_values(self):
        row = np.array([[[0], [4], [8]]], dtype=np.uint8)
        np.testing.assert_allclose(io.resize_image(row, (1, 6))[0, :, 0], [0, 1, 3, 5, 7, 6])
        np.testing.assert_allclose(io.resize_image(np.repeat(row, 2, axis=2), (1, 5))[0, :, 1], [0, 2, 4, 6, 8])
        np.testing.assert_array_equal(io.resize_image(row, (2, 6), interp_order=0)[1, :, 0], [0, 0, 4, 4, 8, 8])
        np.testing.assert_array_equal(io.resize_image(np.full((3, 3, 3), 2.5), (7, 8)), np.full((7, 8, 3), 2.5))

    def test_mistakes_are_named(self):
        with self.assertRaisesRegex(ValueError, 'height x width x channels'):
            io.resize_image(np.zeros((3, 3)), (2, 2))
        with self.assertRaisesRegex(ValueError, 'not 3'):
            io.resize_image(np.zeros((3, 3, 1)), (2, 2), interp_order=3)


class OversampleTest(unittest.TestCase):
    def test_places_and_mirrors(self):
        images = random.random((2, 7, 6, 2)).astype(np.float32)
        crops = io.oversample(iter(images), np.array([4, 3]))
        self.assertEqual((crops.shape, crops.dtype), ((20, 4, 3, 2), np.float32))
        for number, image in enumerate(images):
            for place, (y, x) in enumerate(((0, 0), (0, 3), (3, 0), (3, 3), (1, 1))):
                piece = image[y:y + 4, x:x + 3]
                np.testing.assert_array_equal(crops[10 * number + place], piece)
                np.testing.assert_array_equal(crops[10 * number + 5 + place], piece[:, ::-1])


class TransformerTest(unittest.TestCase):
    def transformer(self, channels=3):
        made = io.Transformer({'data': [2, channels, 4, 6]})
        made.set_transpose('data', (2, 0, 1))
        return made

    def test_steps_in_their_order(self):
        mean = np.array([10.0, 20.0, 30.0])
        made = self.transformer()
        made.set_channel_swap('data', (2, 0, 1))
        made.set_raw_scale('data', 255)
        made.set_mean('data', mean)
        made.set_input_scale('data', 0.5)
        image = random.random((4, 6, 3)).astype(np.float32)
        was = image.copy()
        out = made.preprocess('data', image)
        np.testing.assert_array_equal(image, was)
        self.assertEqual(out.dtype, np.float32)
        expected = (image[:, :, [2, 0, 1]] * 255.0 - mean) * 0.5
        np.testing.assert_allclose(out, expected.transpose(2, 0, 1), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(made.deprocess('data', out), image, atol=1e-6)
        np.testing.assert_allclose(made.deprocess('data', out[np.newaxis]), image, atol=1e-6)

    def test_images_take_the_inputs_size(self):
        image = random.random((9, 5, 3))
        np.testing.assert_array_equal(self.transformer().preprocess('data', image),
                                      io.resize_image(image.astype(np.float32), (4, 6)).transpose(2, 0, 1))

    def test_without_steps_nothing_changes(self):
        made = io.Transformer({'data': (1, 4, 6, 3)})
        image = random.random((6, 3, 4)).astype(np.float32)
        np.testing.assert_array_equal(made.preprocess('data', image), image)

    def test_one_channel_comes_back(self):
        image = random.random((4, 6, 1)).astype(np.float32)
        made = self.transformer(channels=1)
        np.testing.assert_array_equal(made.deprocess('data', made.preprocess('data', image)), image)

    def test_means_of_all_shapes(self):
        made = self.transformer()
        whole, small = random.random((3, 4, 6)), random.random((3, 2, 3))
        for mean, subtracted in ((whole, whole), (whole[0], whole[:1]),
                                 (small, io.resize_image(small.transpose(1, 2, 0), (4, 6)).transpose(2, 0, 1))):
            made.set_mean('data', mean)
            np.testing.assert_allclose(made.preprocess('data', np.ones((4, 6, 3))), 1 - np.broadcast_to(
                subtracted, (3, 4, 6)), atol=1e-6)

    def test_mistakes_are_named(self):
        made = self.transformer()
        for call in (lambda: made.set_mean('data', np.zeros(4)), lambda: made.set_mean('data', np.zeros((2, 4, 6)))):
            with self.assertRaisesRegex(ValueError, '^Mean'):
                call()
        for call, words in ((lambda: made.set_raw_scale('other', 1), 'not one of the net inputs'),
                            (lambda: made.preprocess('other', np.zeros((4, 6, 3))), 'not one of the net inputs'),
                            (lambda: made.set_transpose('data', (1, 0)), 'same number of dimensions'),
                            (lambda: made.set_channel_swap('data', (1, 0)), 'input channels')):
            with self.assertRaisesRegex(Exception, words):
                call()


class LoadImageTest(unittest.TestCase):
    pixels = random.integers(0, 256, (5, 4, 4), dtype=np.uint8)

    def assert_image(self, made, expected):
        self.assertEqual((made.shape, made.dtype), (expected.shape, np.float32))
        np.testing.assert_allclose(made, expected, atol=1e-6)

    @unittest.skipIf(PIL is None, 'Pillow is not installed')
    def test_modes_by_pillow(self):
        rgb, grey = self.pixels[:, :, :3] / 255, self.pixels[:, :, :1] / 255
        weighted = (rgb * io.GREY_OF_RGB).sum(axis=2, keepdims=True)
        wide = (random.integers(0, 65536, (5, 4))).astype(np.uint16)
        for image, colour, plain in (
                (PIL.Image.fromarray(self.pixels[:, :, :3].copy(), 'RGB'), rgb, weighted),
                (PIL.Image.fromarray(self.pixels, 'RGBA'), rgb, weighted),
                (PIL.Image.fromarray(self.pixels[:, :, 0].copy(), 'L'), grey, grey),
                (PIL.Image.fromarray(self.pixels[:, :, :2].copy(), 'LA'), grey, grey),
                (PIL.Image.fromarray(self.pixels[:, :, 0] > 99), 1.0 * (grey > 99 / 255), 1.0 * (grey > 99 / 255)),
                (PIL.Image.fromarray(wide), wide[:, :, np.newaxis] / 65535, wide[:, :, np.newaxis] / 65535)):
            with tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, 'image.png')
                image.save(file)
                self.assert_image(io.load_image(file), np.broadcast_to(colour, (5, 4, 3)))
                self.assert_image(io.load_image(file, color=False), plain)

    def test_opencv_takes_pillows_place(self):
        read = {'rgb': self.pixels[:, :, [2, 1, 0]], 'grey': self.pixels[:, :, 0], 'none': None}
        opencv = types.SimpleNamespace(IMREAD_UNCHANGED=-1, imread=lambda file, how: read[file])
        with mock.patch.dict(sys.modules, {'PIL': None, 'PIL.Image': None, 'cv2': opencv}):
            self.assert_image(io.load_image('rgb'), self.pixels[:, :, :3] / 255)
            self.assert_image(io.load_image('grey', color=False), self.pixels[:, :, :1] / 255)
            with self.assertRaisesRegex(OSError, 'none is absent'):
                io.load_image('none')

    def test_without_a_reader_it_says_what_to_install(self):
        with mock.patch.dict(sys.modules, {'PIL': None, 'PIL.Image': None, 'cv2': None}):
            with self.assertRaisesRegex(ImportError, 'python3-pil'):
                io.load_image('any')


if __name__ == '__main__':
    unittest.main()
