"""The steps of Caffe's notebooks: classification, logistic regression from HDF5, fine-tuning."""
import os
import tempfile
import unittest

import numpy

import cortado
from cortado import layers as L
from cortado import params as P

try:
    import h5py
except ImportError:
    h5py = None


class Notebooks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, message):
        with open(self.path(name), "w") as out:
            out.write(str(message))
        return self.path(name)

    def solver(self, name, net, **fields):
        fields = {"base_lr": 0.1, "momentum": 0.9, "lr_policy": "fixed", "max_iter": 200, **fields}
        return self.write(name, cortado.proto.caffe_pb2.SolverParameter(net=net, snapshot_prefix=self.path("run"), **fields))

    def test_classification(self):
        """A net whose classes are the mean colours of an image, through Transformer and Classifier."""
        n = cortado.NetSpec()
        n.data = L.Input(shape=dict(dim=[10, 3, 8, 8]))
        n.mean = L.Pooling(n.data, pool=P.Pooling.AVE, global_pooling=True)
        n.prob = L.Softmax(n.mean)
        model = self.write("colours.prototxt", n.to_proto())
        net = cortado.Net(model, cortado.TEST)
        transformer = cortado.io.Transformer({"data": net.blobs["data"].data.shape})
        transformer.set_transpose("data", (2, 0, 1))
        transformer.set_raw_scale("data", 255)
        transformer.set_channel_swap("data", (2, 1, 0))
        transformer.set_mean("data", numpy.array([1.0, 2.0, 3.0]))
        image = numpy.zeros((16, 20, 3), "f")
        image[:, :, 0] = 0.1  # red
        net.blobs["data"].reshape(1, 3, 8, 8)
        net.reshape()
        net.blobs["data"].data[...] = transformer.preprocess("data", image)
        net.forward()
        numpy.testing.assert_allclose(net.blobs["mean"].data.ravel(), [-1, -2, 22.5], rtol=1e-5)
        net.save(self.path("none.caffemodel"))
        classifier = cortado.Classifier(model, self.path("none.caffemodel"), image_dims=(10, 10), raw_scale=255,
                                        channel_swap=(2, 1, 0))
        self.assertEqual(list(classifier.predict([image, image[:, :, ::-1]]).argmax(1)), [2, 0])

    @unittest.skipIf(h5py is None, "no h5py")
    def test_logistic_regression(self):
        rng = numpy.random.default_rng(5)
        x = rng.standard_normal((400, 4)).astype("f")
        label = (x @ numpy.array([2.0, -1, 0.5, 1]) + 0.3 > 0).astype("f")
        with h5py.File(self.path("set.h5"), "w") as file:
            file["data"], file["label"] = x, label
        source = self.write("set.txt", self.path("set.h5") + "\n")
        n = cortado.NetSpec()
        n.data, n.label = L.HDF5Data(batch_size=50, source=source, ntop=2)
        n.ip1 = L.InnerProduct(n.data, num_output=2, weight_filler=dict(type="xavier"))
        n.accuracy = L.Accuracy(n.ip1, n.label)
        n.loss = L.SoftmaxWithLoss(n.ip1, n.label)
        net = self.write("logreg.prototxt", n.to_proto())
        solver = cortado.get_solver(self.solver("solver.prototxt", net, test_iter=[8], test_interval=1000,
                                                test_initialization=False))
        solver.solve()
        accuracy = sum(float(solver.test_nets[0].forward()["accuracy"]) for _ in range(8)) / 8
        self.assertGreater(accuracy, 0.96)
        weights = solver.net.params["ip1"][0].data
        direction = weights[1] - weights[0]
        numpy.testing.assert_allclose(direction / numpy.linalg.norm(direction), numpy.array([2, -1, 0.5, 1]) / 2.5, atol=0.1)

    def test_fine_tuning(self):
        """A pretrained layer is kept by name and frozen; a renamed one starts anew and learns."""
        def net(last, **frozen):
            n = cortado.NetSpec()
            n.data, n.target = L.DummyData(shape=[dict(dim=[8, 3]), dict(dim=[8, 2])], ntop=2,
                                           data_filler=[dict(type="gaussian", std=1), dict(type="constant", value=1)])
            n.fc1 = L.InnerProduct(n.data, num_output=4, weight_filler=dict(type="xavier"), **frozen)
            setattr(n, last, L.InnerProduct(n.fc1, num_output=2, weight_filler=dict(type="xavier")))
            n.loss = L.EuclideanLoss(n[last], n.target)
            return self.write(last + ".prototxt", n.to_proto())

        first = cortado.get_solver(self.solver("first.prototxt", net("fc2")))
        first.step(5)
        first.net.save(self.path("first.caffemodel"))
        frozen = dict(param=[dict(lr_mult=0), dict(lr_mult=0)])
        tuned = cortado.get_solver(self.solver("tuned.prototxt", net("fc2_new", **frozen), base_lr=0.05))
        tuned.net.copy_from(self.path("first.caffemodel"))
        numpy.testing.assert_array_equal(tuned.net.params["fc1"][0].data, first.net.params["fc1"][0].data)
        before = tuned.net.params["fc2_new"][0].data.copy()
        tuned.net.forward()
        loss = float(tuned.net.blobs["loss"].data)
        tuned.step(60)
        numpy.testing.assert_array_equal(tuned.net.params["fc1"][0].data, first.net.params["fc1"][0].data)
        self.assertFalse(numpy.array_equal(tuned.net.params["fc2_new"][0].data, before))
        self.assertLess(tuned.loss, loss / 5)


if __name__ == "__main__":
    unittest.main()
