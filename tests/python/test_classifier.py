"""Classifier and Detector over a net that returns its input's first pixels, and Caffe's name for the package."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import numpy as np

import cortado.classifier
import cortado.detector
from cortado import io
from cortado.proto import caffe_pb2

random = np.random.default_rng(5)


class EchoNet:
    """A net whose scores are the input of 3 x 6 x 6 itself."""

    def __init__(self, model_file, phase, weights=None):
        self.made_of = model_file, phase, weights
        self.inputs, self.outputs = ['data'], ['prob']
        self.blobs = {'data': types.SimpleNamespace(data=np.zeros((4, 3, 6, 6), dtype=np.float32))}

    def forward_all(self, data):
        assert data.dtype == np.float32 and data.shape[1:] == (3, 6, 6)
        return {'prob': data.reshape(len(data), -1).copy(), 'other': None}


def over_echo_net(module):
    """A copy of a module of the package, whose Net is EchoNet."""
    spec = importlib.util.find_spec(module)
    copy = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, {'cortado.net': types.SimpleNamespace(Net=EchoNet)}):
        spec.loader.exec_module(copy)
    return copy


Classifier = over_echo_net('cortado.classifier').Classifier
detector = over_echo_net('cortado.detector')


class ClassifierTest(unittest.TestCase):
    images = random.random((2, 11, 8, 3)).astype(np.float32)

    def test_the_net_is_made_for_tests(self):
        self.assertEqual(Classifier('m', 'w').made_of, ('m', caffe_pb2.TEST, 'w'))

    def test_the_whole_image(self):
        scores = Classifier('m', 'w').predict(self.images, oversample=False)
        for image, score in zip(self.images, scores):
            np.testing.assert_allclose(score, io.resize_image(image, (6, 6)).transpose(2, 0, 1).ravel(), atol=1e-6)

    def test_the_centre_as_the_net_wants_it(self):
        made = Classifier('m', 'w', image_dims=[11, 8], mean=np.array([1.0, 2.0, 3.0]), input_scale=0.1, raw_scale=10,
                          channel_swap=(2, 1, 0))
        scores = made.predict(list(self.images), oversample=False)
        for image, score in zip(self.images, scores):
            expected = (image[2:8, 1:7, ::-1] * 10 - [1, 2, 3]) * 0.1
            np.testing.assert_allclose(score, expected.transpose(2, 0, 1).ravel(), atol=1e-6)

    def test_the_mean_of_ten(self):
        scores = Classifier('m', 'w', image_dims=(11, 8)).predict(self.images)
        self.assertEqual(scores.shape, (2, 3 * 6 * 6))
        for image, score in zip(self.images, scores):
            pieces = [image[y:y + 6, x:x + 6] for y, x in ((0, 0), (0, 2), (5, 0), (5, 2), (2, 1))]
            mean = np.mean(pieces + [piece[:, ::-1] for piece in pieces], axis=0)
            np.testing.assert_allclose(score, mean.transpose(2, 0, 1).ravel(), atol=1e-6)


class DetectorTest(unittest.TestCase):
    image = random.random((20, 24, 3)).astype(np.float32)

    def detect(self, windows, **words):
        with mock.patch.object(io, 'load_image', lambda name: self.image):
            return detector.Detector('m', 'w', **words).detect_windows(iter([('a', windows), ('b', windows[:1])]))

    def test_windows_take_the_inputs_size(self):
        windows = [np.array([2, 3, 8, 9]), (0, 0, 20, 24)]
        found = self.detect(windows, mean=np.array([1.0, 2.0, 3.0]))
        self.assertEqual([one['filename'] for one in found], ['a', 'a', 'b'])
        self.assertIs(found[1]['window'], windows[1])
        for one in found:
            top, left, bottom, right = one['window']
            piece = io.resize_image(self.image[top:bottom, left:right], (6, 6)) - [1, 2, 3]
            np.testing.assert_allclose(one['prediction'], piece.transpose(2, 0, 1).ravel(), atol=1e-6)

    def test_context_inside_the_image(self):
        # The window counts as 7 x 7 pixels, for 4 x 4 of the input: 6 x 6 are 10.5 x 10.5, rounded outwards.
        made = detector.Detector('m', 'w', context_pad=1)
        np.testing.assert_allclose(made.crop(self.image, [8, 9, 14, 15]),
                                   io.resize_image(self.image[6:17, 7:18], (6, 6)), atol=1e-6)

    def test_beyond_the_image_is_the_mean(self):
        mean = np.array([10.0, 20.0, 30.0])
        found = self.detect([[0, 0, 6, 6]], context_pad=1, mean=mean, raw_scale=100, channel_swap=(1, 2, 0))
        scores = found[0]['prediction'].reshape(3, 6, 6)
        np.testing.assert_allclose(scores[:, 0, :], 0, atol=1e-5)
        np.testing.assert_allclose(scores[:, :, 0], 0, atol=1e-5)
        inside = io.resize_image(self.image[0:9, 0:9], (5, 5))[:, :, [1, 2, 0]] * 100 - mean
        np.testing.assert_allclose(scores[:, 1:, 1:], inside.transpose(2, 0, 1), atol=1e-4)

    def test_windows_outside_are_refused(self):
        with self.assertRaisesRegex(ValueError, 'outside the image'):
            detector.Detector('m', 'w', context_pad=1).crop(self.image, [40, 40, 50, 50])

    def test_selective_search_gives_windows(self):
        search = types.SimpleNamespace(get_windows=lambda names, cmd: [[[0, 0, 5, 5]] for _ in names])
        with mock.patch.dict(sys.modules, selective_search_ijcv_with_python=search), \
                mock.patch.object(io, 'load_image', lambda name: self.image):
            found = detector.Detector('m', 'w').detect_selective_search(['x.jpg'])
        self.assertEqual(found[0]['filename'], os.path.abspath('x.jpg'))


class CaffeTest(unittest.TestCase):
    """install() changes the whole process, so each case has its own."""

    def run_python(self, program, folder=None):
        path = os.pathsep.join(filter(None, [folder, os.environ.get('PYTHONPATH')]))
        done = subprocess.run([sys.executable, '-c', program], env={**os.environ, 'PYTHONPATH': path},
                              capture_output=True, text=True)
        return done.stdout + done.stderr

    def test_programs_for_pycaffe_run(self):
        self.assertEqual(self.run_python("""
import cortado.caffe
cortado.caffe.install()
cortado.caffe.install()
import caffe, caffe.draw, caffe.io, caffe.pycaffe
from caffe import layers as L, params as P
from caffe.proto import caffe_pb2
from caffe.coord_map import crop
import cortado
assert caffe is cortado and caffe.io is cortado.io and caffe.pycaffe.Net is cortado.Net
assert caffe.proto.caffe_pb2 is caffe_pb2 and caffe_pb2.TEST == caffe.TEST and caffe.draw.draw_net
assert caffe.NetSpec and caffe.Classifier and caffe.Detector and caffe.to_proto
assert P.Pooling.AVE == 1 and L.ReLU(L.Input()).fn.type_name == 'ReLU'
"""), '')

    def test_another_caffe_that_is_imported_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, 'caffe.py'), 'w') as other:
                other.write('')
            self.assertIn(f'another caffe is imported, of {folder}',
                          self.run_python('import caffe, cortado.caffe; cortado.caffe.install()', folder))
            self.assertEqual(self.run_python('import cortado.caffe; cortado.caffe.install(); import caffe; caffe.Net',
                                             folder), '')


if __name__ == '__main__':
    unittest.main()
