"""Layers written in Python: in a net alone, and in training."""
import gc
import os
import tempfile
import unittest
import weakref

import numpy

import cortado


class Ten(cortado.Layer):
    def setup(self, bottom, top):
        pass

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].data.shape)

    def forward(self, bottom, top):
        top[0].data[...] = 10 * bottom[0].data

    def backward(self, top, propagate_down, bottom):
        bottom[0].diff[...] = 10 * top[0].diff


class Offset(cortado.Layer):
    """Learns one number, which param_str begins with."""

    def setup(self, bottom, top):
        self.blobs.add_blob(1)
        self.blobs[0].data[0] = float(self.param_str)

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        top[0].data[...] = bottom[0].data + self.blobs[0].data[0]

    def backward(self, top, propagate_down, bottom):
        self.blobs[0].diff[0] += top[0].diff.sum()
        if propagate_down[0]:
            bottom[0].diff[...] = top[0].diff


class Loss(cortado.Layer):
    """Half the mean square of the difference of two bottoms."""

    def setup(self, bottom, top):
        if len(bottom) != 2:
            raise ValueError("needs two bottoms")

    def reshape(self, bottom, top):
        self.difference = numpy.zeros(bottom[0].shape, "f")
        top[0].reshape(1)

    def forward(self, bottom, top):
        self.difference[...] = bottom[0].data - bottom[1].data
        top[0].data[0] = (self.difference ** 2).sum() / bottom[0].num / 2

    def backward(self, top, propagate_down, bottom):
        for i, sign in ((0, 1), (1, -1)):
            if propagate_down[i]:
                bottom[i].diff[...] = sign * top[0].diff[0] * self.difference / bottom[i].num


class Positive(cortado.Layer):
    """Keeps the rows whose first number is positive: its top's shape follows values."""

    def reshape(self, bottom, top):
        self.rows = bottom[0].data[:, 0] > 0
        top[0].reshape(max(1, int(self.rows.sum())), bottom[0].shape[1])

    def forward(self, bottom, top):
        top[0].data[...] = bottom[0].data[self.rows] if self.rows.any() else 0


class Broken(cortado.Layer):
    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        raise KeyError("this is wrong")


class PhaseOf(cortado.Layer):
    def reshape(self, bottom, top):
        top[0].reshape()

    def forward(self, bottom, top):
        top[0].data[()] = self.phase


def python(name, kind, bottoms, param_str="", more=""):
    bottom = "".join(f' bottom: "{b}"' for b in bottoms)
    return (f'layer {{ name: "{name}" type: "Python"{bottom} top: "{name}" {more}\n'
            f'  python_param {{ module: "{__name__}" layer: "{kind}" param_str: "{param_str}" }} }}\n')


def net_of(text, phase=cortado.TEST):
    with tempfile.NamedTemporaryFile("w", suffix=".prototxt") as file:
        file.write(text)
        file.flush()
        return cortado.Net(file.name, phase)


INPUT = 'force_backward: true layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 4 dim: 3 } } }\n'


class PythonLayers(unittest.TestCase):
    def test_forward_and_backward(self):
        net = net_of(INPUT + python("one", "Ten", ["data"]) +
                     'layer { name: "ip" type: "Power" bottom: "one" top: "two" power_param { scale: 3 } }' +
                     python("three", "Ten", ["two"]))
        x = numpy.arange(12).reshape(4, 3)
        numpy.testing.assert_array_equal(net.forward(data=x)["three"], 300.0 * x)
        net.blobs["three"].diff[...] = 1
        numpy.testing.assert_array_equal(net.backward()["data"], 300)
        net.blobs["data"].reshape(2, 5)
        net.reshape()
        self.assertEqual(net.blobs["three"].shape, (2, 5))

    def test_shapes_that_follow_values(self):
        net = net_of(INPUT + python("kept", "Positive", ["data"]) + python("ten", "Ten", ["kept"]))
        x = numpy.array([[1, 2, 3], [-1, 0, 0], [4, 5, 6], [-2, 0, 0]], "f")
        numpy.testing.assert_array_equal(net.forward(data=x)["ten"], 10 * x[[0, 2]])
        numpy.testing.assert_array_equal(net.forward(data=-x)["ten"], -10 * x[[1, 3]])

    def test_the_object_is_the_layer(self):
        net = net_of(INPUT + python("plus", "Offset", ["data"], "2.5"))
        layer = net.layers[1]
        self.assertIsInstance(layer, cortado.Layer)
        self.assertEqual((layer.param_str, layer.type, layer.layer_param.name), ("2.5", "Python", "plus"))
        self.assertEqual(net.params["plus"][0].data[0], 2.5)
        self.assertEqual(net.forward(data=numpy.zeros((4, 3)))["plus"].max(), 2.5)

    def test_the_phase(self):
        for phase in (cortado.TRAIN, cortado.TEST):
            self.assertEqual(float(net_of(INPUT + python("phase", "PhaseOf", ["data"]), phase).forward()["phase"]), phase)

    def test_errors_come_through(self):
        net = net_of(INPUT + python("bad", "Broken", ["data"]))
        with self.assertRaisesRegex(KeyError, "this is wrong"):
            net.forward()
        with self.assertRaisesRegex(ValueError, "needs two bottoms"):
            net_of(INPUT + python("loss", "Loss", ["data"]))
        with self.assertRaises(AttributeError):
            net_of(INPUT + python("none", "NoSuch", ["data"]))
        with self.assertRaisesRegex(cortado.ConfigError, "names no class"):
            net_of(INPUT + 'layer { name: "x" type: "Python" bottom: "data" top: "x" }')

    def test_it_goes_with_its_net(self):
        net = net_of(INPUT + python("ten", "Ten", ["data"]))
        alive = weakref.ref(net.layers[1])
        net.forward()
        del net
        gc.collect()
        self.assertIsNone(alive())

    def test_training(self):
        """An offset and a loss of ours, between layers of Cortado's: learns that the target is 3 more."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "net.prototxt"), "w") as out:
                out.write('layer { name: "data" type: "DummyData" top: "data" top: "target" dummy_data_param {'
                          ' shape { dim: 4 dim: 2 } shape { dim: 4 dim: 2 } data_filler { type: "constant" value: 1 }'
                          ' data_filler { type: "constant" value: 4 } } }\n' +
                          python("plus", "Offset", ["data"], "0") +
                          python("loss", "Loss", ["plus", "target"], more="loss_weight: 1"))
            with open(os.path.join(folder, "solver.prototxt"), "w") as out:
                out.write(f'net: "{folder}/net.prototxt" base_lr: 0.2 lr_policy: "fixed" max_iter: 40')
            solver = cortado.get_solver(os.path.join(folder, "solver.prototxt"))
            solver.solve()
            self.assertAlmostEqual(float(solver.net.params["plus"][0].data[0]), 3, places=3)
            solver.net.save(os.path.join(folder, "w.caffemodel"))
            again = cortado.Net(os.path.join(folder, "net.prototxt"), os.path.join(folder, "w.caffemodel"), cortado.TEST)
            self.assertAlmostEqual(float(again.params["plus"][0].data[0]), 3, places=3)


if __name__ == "__main__":
    unittest.main()
