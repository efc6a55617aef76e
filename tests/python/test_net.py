"""Nets: values, gradients, parameters, shapes, files."""
import os
import subprocess
import sys
import tempfile
import unittest

import numpy

import cortado

NET = """
name: "small" force_backward: true
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 3 dim: 2 dim: 6 dim: 6 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "gaussian" std: 0.5 }
    bias_filler { type: "gaussian" std: 1 } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
  inner_product_param { num_output: 5 weight_filler { type: "gaussian" std: 0.1 } } }
layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" }
"""
BATCH_NORM = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 16 dim: 5 dim: 5 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 16 kernel_size: 3 weight_filler { type: "msra" } } }
layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "conv" }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
"""


def net_of(text, phase=cortado.TEST, **how):
    with tempfile.NamedTemporaryFile("w", suffix=".prototxt") as file:
        file.write(text)
        file.flush()
        return cortado.Net(file.name, phase, **how)


def convolved(images, weights, bias):
    n, _, height, width = images.shape
    k = weights.shape[2]
    out = numpy.zeros((n, len(weights), height - k + 1, width - k + 1))
    for y in range(out.shape[2]):
        for x in range(out.shape[3]):
            out[:, :, y, x] = numpy.tensordot(images[:, :, y:y + k, x:x + k], weights, ((1, 2, 3), (1, 2, 3)))
    return out + bias[:, None, None]


class Nets(unittest.TestCase):
    def test_functions_around_layers(self):
        called = []
        for moment in ("before_forward", "after_forward", "before_backward", "after_backward"):
            getattr(self.net, moment)(lambda layer, moment=moment: called.append((moment, layer)))
        self.net.forward(data=self.images)
        self.assertEqual(called, [(moment, i) for i in range(5) for moment in ("before_forward", "after_forward")])
        called.clear()
        self.net.backward(prob=numpy.ones((3, 5), "f"))
        self.assertEqual(called,
                         [(moment, i) for i in reversed(range(5)) for moment in ("before_backward", "after_backward")])
        called.clear()
        self.net.forward(start="relu", end="relu")
        self.assertEqual(called, [("before_forward", 2), ("after_forward", 2)])

    def test_functions_around_layers_read_and_write(self):
        """In place too, where arrays are copies: each function sees what lies there at its moment."""
        seen = {}

        def before(layer):
            seen[layer] = self.net.blobs["conv"].data.copy()
            if layer == 3:
                self.net.blobs["conv"].data[...] = 1

        self.net.before_forward(before)
        self.net.forward(data=self.images)
        weights, bias = (blob.data for blob in self.net.params["conv"])
        expected = convolved(self.images, weights, bias)
        numpy.testing.assert_allclose(seen[2], expected, rtol=1e-4, atol=1e-4)
        numpy.testing.assert_allclose(seen[3], numpy.maximum(expected, 0), rtol=1e-4, atol=1e-4)
        weights, bias = (blob.data for blob in self.net.params["ip"])
        numpy.testing.assert_allclose(self.net.blobs["ip"].data[0], weights.sum(axis=1) + bias, rtol=1e-4)
        gradients = []
        self.net.after_backward(lambda layer: gradients.append(float(abs(self.net.params["ip"][0].diff).sum())))
        self.net.backward(prob=self.images[:, 0, :1, :5].reshape(3, 5))
        self.assertEqual(gradients[0], 0)
        self.assertGreater(gradients[1], 0)

    def test_functions_around_layers_may_add_others_and_throw(self):
        called = []

        def first(layer):
            called.append(layer)
            if layer == 0:
                for _ in range(50):
                    self.net.before_forward(lambda layer: called.append(-layer))
                self.net.after_forward(lambda layer: called.append(100 + layer))

        self.net.before_forward(first)
        self.net.forward(data=self.images, end="conv")
        self.assertEqual(called, [0] + 50 * [0] + [100, 1] + 50 * [-1] + [101])

        def fails(layer):
            raise ValueError(f"layer {layer}")

        other = net_of(NET)
        other.before_forward(fails)
        with self.assertRaisesRegex(ValueError, "layer 0"):
            other.forward(data=self.images)
        with self.assertRaises(TypeError):
            other.before_forward(3)

    def setUp(self):
        self.net = net_of(NET)
        self.images = numpy.random.default_rng(1).standard_normal((3, 2, 6, 6)).astype("f")

    def test_names(self):
        self.assertEqual(list(self.net.blobs), ["data", "conv", "ip", "prob"])
        self.assertEqual(list(self.net.params), ["conv", "ip"])
        self.assertEqual((self.net.inputs, self.net.outputs), (["data"], ["prob"]))
        self.assertEqual(list(self.net._layer_names), ["data", "conv", "relu", "ip", "prob"])
        self.assertEqual([layer.type for layer in self.net.layers],
                         ["Input", "Convolution", "ReLU", "InnerProduct", "Softmax"])
        self.assertEqual(self.net.bottom_names["ip"], ["conv"])
        self.assertEqual(self.net.top_names["conv"], ["conv"])
        self.assertEqual(self.net.name, "small")

    def test_forward_is_what_numpy_computes(self):
        got = self.net.forward(data=self.images)
        weights, bias = (blob.data for blob in self.net.params["conv"])
        conv = numpy.maximum(convolved(self.images, weights, bias), 0)
        numpy.testing.assert_allclose(self.net.blobs["conv"].data, conv, rtol=1e-4, atol=1e-5)
        ip = conv.reshape(3, -1) @ self.net.params["ip"][0].data.T
        e = numpy.exp(ip - ip.max(1, keepdims=True))
        self.assertEqual(list(got), ["prob"])
        numpy.testing.assert_allclose(got["prob"], e / e.sum(1, keepdims=True), rtol=1e-4, atol=1e-6)

    def test_parts_of_a_forward(self):
        whole = self.net.forward(data=self.images)["prob"].copy()
        conv = self.net.forward(end="conv", data=self.images)["conv"]
        self.assertLess(conv.min(), 0)  # the ReLU behind it has not run
        self.net.forward(start="relu", end="relu")
        self.assertEqual(self.net.blobs["conv"].data.min(), 0)
        numpy.testing.assert_array_equal(self.net.forward(start="ip")["prob"], whole)
        self.net.blobs["conv"].data[...] = 0
        numpy.testing.assert_allclose(self.net.forward(start="ip")["prob"], 0.2, rtol=1e-6)

    def test_more_blobs(self):
        got = self.net.forward(blobs=["conv"], data=self.images)
        self.assertEqual(set(got), {"conv", "prob"})

    def test_gradients(self):
        """Of a random sum of ip's values, by differences."""
        weigh = numpy.random.default_rng(2).standard_normal((3, 5)).astype("f")
        self.net.forward(data=self.images)
        self.net.clear_param_diffs()
        self.net.blobs["ip"].diff[...] = weigh
        got = self.net.backward(start="ip", diffs=["conv"])
        self.assertEqual(set(got), {"data", "conv"})
        gradient = got["data"].copy()
        loss = lambda: float((self.net.forward(end="ip")["ip"].astype("d") * weigh).sum())
        for at in [(0, 0, 0, 0), (1, 1, 3, 2), (2, 0, 5, 5)]:
            values = []
            for step in (1e-2, -1e-2):
                self.net.blobs["data"].data[...] = self.images
                self.net.blobs["data"].data[at] += step
                values.append(loss())
            self.assertAlmostEqual((values[0] - values[1]) / 2e-2, gradient[at], delta=2e-2 + 0.02 * abs(gradient[at]))

    def test_parameter_gradients_add_up(self):
        self.net.forward(data=self.images)
        self.net.clear_param_diffs()
        for times in (1, 2):
            self.net.blobs["ip"].diff[...] = 1
            self.net.backward(start="ip")
            numpy.testing.assert_allclose(self.net.params["ip"][1].diff, 3 * times)
        self.net.clear_param_diffs()
        self.assertEqual(abs(self.net.params["ip"][1].diff).max(), 0)

    def test_forward_all_takes_any_number(self):
        many = numpy.random.default_rng(3).standard_normal((7, 2, 6, 6)).astype("f")
        got = self.net.forward_all(data=many)["prob"]
        self.assertEqual(got.shape, (7, 5))
        for i in range(7):
            batch = numpy.repeat(many[i:i + 1], 3, 0)
            numpy.testing.assert_allclose(got[i], self.net.forward(data=batch)["prob"][0], rtol=1e-5)

    def test_forward_backward_all_takes_any_number(self):
        many = numpy.random.default_rng(6).standard_normal((7, 2, 6, 6)).astype("f")
        weigh = numpy.random.default_rng(7).standard_normal((7, 5)).astype("f")
        outputs, gradients = self.net.forward_backward_all(blobs=["conv"], diffs=["ip"], data=many, prob=weigh)
        self.assertEqual((outputs["conv"].shape, gradients["data"].shape), ((7, 4, 4, 4), (7, 2, 6, 6)))
        prob = outputs["prob"]
        numpy.testing.assert_allclose(gradients["ip"], prob * (weigh - (prob * weigh).sum(1, keepdims=True)), rtol=1e-3,
                                      atol=1e-6)
        for i in (0, 6):
            self.net.forward(data=numpy.repeat(many[i:i + 1], 3, 0))
            one = self.net.backward(prob=numpy.repeat(weigh[i:i + 1], 3, 0))["data"][0]
            numpy.testing.assert_allclose(gradients["data"][i], one, rtol=1e-4, atol=1e-7)

    def test_weights_in_either_place(self):
        with tempfile.TemporaryDirectory() as folder:
            file, net = os.path.join(folder, "a.caffemodel"), os.path.join(folder, "net.prototxt")
            self.net.save(file)
            with open(net, "w") as out:
                out.write(NET)
            for other in (cortado.Net(net, file, cortado.TEST), cortado.Net(net, cortado.TEST, 0, [], file)):
                numpy.testing.assert_array_equal(other.params["conv"][0].data, self.net.params["conv"][0].data)
            with self.assertRaises(TypeError):
                cortado.Net(net, cortado.TEST, 0, [], file, 1)

    def test_reshape(self):
        one = self.net.forward(data=self.images)["prob"].copy()
        self.net.blobs["data"].reshape(1, 2, 6, 6)
        self.net.reshape()
        self.assertEqual(self.net.blobs["prob"].shape, (1, 5))
        for i in range(3):
            got = self.net.forward(data=self.images[i:i + 1])["prob"]
            numpy.testing.assert_allclose(got[0], one[i], rtol=1e-5)

    def test_blob(self):
        blob = self.net.blobs["data"]
        self.assertEqual((blob.num, blob.channels, blob.height, blob.width, blob.count), (3, 2, 6, 6, 216))
        self.assertEqual(blob.shape, (3, 2, 6, 6))
        blob.data = 3
        self.assertEqual(blob.data.sum(), 648)
        kept = blob.data
        blob.data[...] = 1
        self.assertEqual(kept.sum(), 216)  # one memory
        self.assertEqual(kept.dtype, numpy.float32)

    def test_arrays_outlive_the_net(self):
        values = self.net.params["conv"][0].data
        wanted = values.copy()
        blob = self.net.blobs["data"]
        del self.net
        numpy.testing.assert_array_equal(values, wanted)
        self.assertEqual(blob.shape, (3, 2, 6, 6))

    def test_saved_and_read(self):
        with tempfile.TemporaryDirectory() as folder:
            for save, name in ((self.net.save, "a.caffemodel"), (self.net.save_hdf5, "a.caffemodel.h5")):
                file = os.path.join(folder, name)
                save(file)
                cortado.set_random_seed(77)
                other = net_of(NET)
                cortado.set_random_seed(1)
                self.assertFalse(numpy.array_equal(other.params["conv"][0].data, self.net.params["conv"][0].data))
                other.copy_from(file)
                for name in self.net.params:
                    for a, b in zip(self.net.params[name], other.params[name]):
                        numpy.testing.assert_array_equal(a.data, b.data)
                third = net_of(NET, weights=file)
                numpy.testing.assert_array_equal(third.params["ip"][0].data, self.net.params["ip"][0].data)

    def test_shares(self):
        other = net_of(NET)
        other.share_with(self.net)
        self.net.params["conv"][0].data[...] = 0.25
        self.assertEqual(other.params["conv"][0].data.max(), 0.25)

    def test_to_proto(self):
        message = self.net.to_proto()
        self.assertEqual([layer.name for layer in message.layer][:2], ["data", "conv"])
        numpy.testing.assert_array_equal(cortado.io.blobproto_to_array(message.layer[1].blobs[0]),
                                         self.net.params["conv"][0].data)

    def test_a_net_of_a_message(self):
        spec = cortado.NetSpec()
        spec.data = cortado.layers.Input(shape=dict(dim=[2, 3]))
        spec.twice = cortado.layers.Power(spec.data, scale=2)
        net = cortado.Net(spec.to_proto(), cortado.TEST)
        self.assertEqual(net.forward(data=numpy.ones((2, 3)))["twice"].sum(), 12)

    def test_batch_norm_in_place_in_training(self):
        """Its forward exchanges memory: arrays follow."""
        net = net_of(BATCH_NORM, cortado.TRAIN)
        kept = net.blobs["conv"].data
        net.blobs["data"].data[...] = numpy.random.default_rng(4).standard_normal((2, 16, 5, 5))
        net.forward()
        self.assertAlmostEqual(float((kept > 0).mean()), 0.5, delta=0.15)
        numpy.testing.assert_array_equal(kept, net.blobs["conv"].data)
        net.blobs["conv"].data[...] = 7
        self.assertEqual(net.blobs["conv"].data.min(), 7)

    def test_memory_data(self):
        net = net_of("""layer { name: "data" type: "MemoryData" top: "data" top: "label"
          memory_data_param { batch_size: 2 channels: 1 height: 1 width: 2 } }
          layer { name: "sum" type: "Reduction" bottom: "data" top: "sum" reduction_param { axis: 1 } }
          layer { name: "away" type: "Silence" bottom: "label" }""")
        data, labels = numpy.arange(8).reshape(4, 1, 1, 2), numpy.arange(4)
        net.set_input_arrays(data, labels)
        for wanted in ([1, 5], [9, 13], [1, 5]):
            self.assertEqual(list(net.forward()["sum"]), wanted)
        with self.assertRaisesRegex(ValueError, "multiple of the batch"):
            net.set_input_arrays(data[:3], labels[:3])

    def test_seeds(self):
        cortado.set_random_seed(5)
        first, second = net_of(NET), net_of(NET)
        cortado.set_random_seed(5)
        again = net_of(NET)
        weights = [net.params["conv"][0].data for net in (first, second, again)]
        numpy.testing.assert_array_equal(weights[0], weights[2])
        self.assertFalse(numpy.array_equal(weights[0], weights[1]))

    def test_a_thread_computes_as_the_interpreter_ends(self):
        code = ("import threading, time, cortado\nfrom cortado import layers as L\nspec = cortado.NetSpec()\n"
                "spec.data = L.Input(shape=dict(dim=[8, 8, 32, 32]))\n"
                "spec.conv = L.Convolution(spec.data, num_output=8, kernel_size=3)\n"
                "net = cortado.Net(spec.to_proto(), cortado.TEST)\n"
                "threading.Thread(target=lambda: [net.forward() for _ in range(10**7)], daemon=True).start()\n"
                "time.sleep(0.3)")
        for _ in range(3):
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_other_names_of_pycaffe(self):
        with tempfile.NamedTemporaryFile("w", suffix=".prototxt") as file:
            file.write(NET)
            file.flush()
            net = cortado.Net(network_file=file.name, phase=cortado.TEST)
        self.assertEqual(([net._bottom_ids(i) for i in range(5)], [net._top_ids(i) for i in range(5)]),
                         ([[], [0], [1], [1], [2]], [[0], [1], [1], [2], [3]]))
        self.assertEqual((net._inputs, net._outputs), ([0], [3]))

    def test_shapes(self):
        blob = self.net.blobs["data"]
        blob.reshape((1, 2, 7, 7))
        self.assertEqual(blob.shape, (1, 2, 7, 7))
        blob.reshape(numpy.int64(2), 2, 6, 6)
        self.assertEqual(blob.shape, (2, 2, 6, 6))
        with self.assertRaises(TypeError):
            blob.reshape(1.5, 2, 6, 6)
        with self.assertRaises(cortado.ShapeError):
            blob.reshape(-1, 2, 6, 6)

    def test_mistakes(self):
        with self.assertRaisesRegex(TypeError, "inputs by name"):
            self.net.forward(self.images)
        with self.assertRaisesRegex(cortado.FileError, "nowhere.prototxt"):
            cortado.Net("nowhere.prototxt", cortado.TEST)
        with self.assertRaisesRegex(cortado.ConfigError, "kernal_size.*kernel_size"):
            net_of(NET.replace("kernel_size", "kernal_size"))
        with self.assertRaisesRegex(cortado.ShapeError, "conv"):
            net_of(NET.replace("dim: 6 dim: 6", "dim: 2 dim: 6"))
        with self.assertRaisesRegex(ValueError, "the net takes data"):
            self.net.forward(images=self.images)
        with self.assertRaisesRegex(ValueError, "batch of 3, given 2"):
            self.net.forward(data=self.images[:2])
        with self.assertRaisesRegex(ValueError, "no layer 'conv9'; it has data, conv"):
            self.net.forward(end="conv9")
        self.assertTrue(issubclass(cortado.ShapeError, cortado.Error) and issubclass(cortado.Error, RuntimeError))


if __name__ == "__main__":
    unittest.main()
