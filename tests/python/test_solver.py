"""Solvers: steps, tests, snapshots, updates; LeNet's classic notebook, step by step."""
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy

import cortado

NET = """
name: "line"
layer { name: "data" type: "DummyData" top: "data" top: "target"
  dummy_data_param { shape { dim: 8 dim: 3 } shape { dim: 8 dim: 2 } data_filler { type: "gaussian" std: 1 }
    data_filler { type: "constant" value: 0.5 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "target" top: "loss" }
"""


class Solvers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = os.path.join(self.folder.name, "solver.prototxt")
        net = os.path.join(self.folder.name, "net.prototxt")
        with open(net, "w") as out:
            out.write(NET)
        with open(self.file, "w") as out:
            out.write(f'net: "{net}" test_iter: 2 test_interval: 1000 test_initialization: false base_lr: 0.1 momentum: 0.9 '
                      f'lr_policy: "fixed" max_iter: 40 snapshot_prefix: "{self.folder.name}/run" snapshot_after_train: false')

    def solver(self):
        return cortado.SGDSolver(self.file)

    def test_step_trains(self):
        solver = self.solver()
        first = self.loss(solver)
        solver.step(30)
        self.assertEqual(solver.iter, 30)
        self.assertLess(solver.loss, first / 4)
        self.assertAlmostEqual(float(solver.net.blobs["loss"].data), solver.loss, places=5)

    def loss(self, solver):
        solver.net.forward()
        return float(solver.net.blobs["loss"].data)

    def test_solve_ends_at_max_iter(self):
        solver = cortado.get_solver(self.file)
        solver.solve()
        self.assertEqual(solver.iter, 40)
        self.assertEqual(solver.param.max_iter, 40)

    def test_test_nets_share_weights(self):
        solver = self.solver()
        self.assertEqual(len(solver.test_nets), 1)
        solver.net.params["ip"][0].data[...] = 0
        solver.net.params["ip"][1].data[...] = 0.5
        self.assertEqual(float(solver.test_nets[0].forward()["loss"]), 0)
        solver.test()
        self.assertEqual(solver.scores, [{"loss": [0.0]}])

    def test_a_step_by_hand_is_the_solvers(self):
        """forward, backward and apply_update do what step does; and so does numpy."""
        by_hand, stepped = self.solver(), self.solver()
        stepped.step(1)
        weights = by_hand.net.params["ip"][0].data.copy()
        by_hand.net.forward()
        by_hand.net.clear_param_diffs()
        by_hand.net.backward()
        gradient = by_hand.net.params["ip"][0].diff.copy()
        by_hand.apply_update()
        numpy.testing.assert_allclose(by_hand.net.params["ip"][0].data, weights - 0.1 * gradient, rtol=1e-5, atol=1e-7)
        numpy.testing.assert_array_equal(by_hand.net.params["ip"][0].data, stepped.net.params["ip"][0].data)

    def test_callbacks(self):
        """They feed inputs, see this iteration's gradients and may change them."""
        solver, plain = self.solver(), self.solver()
        called = []
        solver.add_callback(lambda: called.append(("start", solver.iter)), lambda: called.append(("ready", solver.iter)))
        solver.step(2)
        plain.step(2)
        self.assertEqual(called, [("start", 0), ("ready", 0), ("start", 1), ("ready", 1)])
        numpy.testing.assert_array_equal(solver.net.params["ip"][0].data, plain.net.params["ip"][0].data)
        weights = solver.net.params["ip"][0].data.copy()
        bias = solver.net.params["ip"][1]
        before = bias.data.copy()

        def ready():
            self.assertGreater(abs(solver.net.params["ip"][0].diff).sum(), 0)
            solver.net.params["ip"][0].diff[...] = 0
            bias.diff[...] = 5

        solver = self.solver()
        solver.net.params["ip"][0].data[...] = weights
        bias = solver.net.params["ip"][1]
        solver.add_callback(lambda: bias.data.fill(2), ready)
        solver.step(1)
        numpy.testing.assert_array_equal(solver.net.params["ip"][0].data, weights)
        numpy.testing.assert_allclose(bias.data, 2 - 0.1 * 5, rtol=1e-6)
        self.assertEqual(before.shape, (2,))

    def test_callbacks_run_nets_and_solvers(self):
        solver = self.solver()
        losses, states = [], []

        def start():
            solver.test()
            losses.append(solver.scores[0]["loss"][0])
            states.append(solver.snapshot())

        solver.add_callback(start, lambda: None)
        solver.test_nets[0].before_forward(lambda layer: losses.append(None) if layer == 0 else None)
        solver.step(2)
        self.assertEqual([loss is None for loss in losses], [True, True, False] * 2)
        self.assertEqual(states, [f"{self.folder.name}/run_iter_{i}.solverstate" for i in range(2)])
        other = self.solver()
        other.restore(states[1])
        other.step(1)
        numpy.testing.assert_array_equal(other.net.params["ip"][0].data, solver.net.params["ip"][0].data)

    def test_callbacks_that_fail(self):
        solver = self.solver()
        fails = [True]

        def ready():
            if fails.pop():
                raise ValueError("not ready")
            fails.append(False)

        solver.add_callback(lambda: None, ready)
        with self.assertRaisesRegex(ValueError, "not ready"):
            solver.step(3)
        self.assertEqual(solver.iter, 0)
        fails.append(False)
        solver.step(3)
        self.assertEqual(solver.iter, 3)
        with self.assertRaises(TypeError):
            solver.add_callback(None, ready)
        fast = cortado.get_solver(self.file, keeps_values=False)
        with self.assertRaisesRegex(cortado.ConfigError, "keeps_values"):
            fast.net.after_forward(print)
        fast.add_callback(lambda: fails.append(False), ready)
        fast.step(2)

    def test_the_interpreter_ends_with_callbacks_that_hold_their_solver(self):
        code = ("import cortado\ndef main():\n"
                f"  solver = cortado.get_solver({self.file!r})\n"
                "  solver.add_callback(lambda: solver.iter, lambda: solver.net)\n"
                "  net = solver.net\n"
                "  net.after_forward(lambda layer: net.blobs)\n"
                "  solver.step(2)\n"
                "main()\nprint('worked')")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
        self.assertEqual((done.returncode, done.stdout), (0, "worked\n"), done.stderr)

    def test_goes_on_from_a_snapshot(self):
        solver = self.solver()
        solver.step(5)
        state = solver.snapshot()
        self.assertEqual(state, f"{self.folder.name}/run_iter_5.solverstate")
        solver.step(5)
        wanted = solver.net.params["ip"][0].data.copy()
        other = self.solver()
        other.restore(state)
        self.assertEqual(other.iter, 5)
        other.step(5)
        numpy.testing.assert_array_equal(other.net.params["ip"][0].data, wanted)
        third = self.solver()
        third.solve(state)
        self.assertEqual(third.iter, 40)

    def test_fast_nets_keep_parameters_alone(self):
        fast = cortado.get_solver(self.file, keeps_values=False)
        slow = self.solver()
        fast.step(10)
        slow.step(10)
        numpy.testing.assert_allclose(fast.net.params["ip"][0].data, slow.net.params["ip"][0].data, rtol=1e-4, atol=1e-6)

    def test_types(self):
        for name in ("SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam"):
            made = getattr(cortado, name + "Solver")
            if name in ("AdaGrad", "RMSProp", "AdaDelta"):
                with open(self.file) as given:
                    text = given.read().replace("momentum: 0.9", "rms_decay: 0.9" if name == "RMSProp" else
                                                "momentum: 0.9" if name == "AdaDelta" else "")
                with open(self.file, "w") as out:
                    out.write(text)
            solver = made(self.file)
            solver.step(1)
            self.assertEqual(solver.param.type, name)
            if name == "RMSProp":
                with open(self.file, "w") as out:
                    out.write(text.replace("rms_decay: 0.9", "momentum: 0.9"))

    def test_a_message(self):
        parameter = self.solver().param
        parameter.base_lr = 0.05
        solver = cortado.Solver(parameter)
        self.assertAlmostEqual(solver.learning_rate, 0.05, places=6)

    def test_the_net_outlives_its_solver(self):
        net = self.solver().net
        self.assertGreater(float(net.forward()["loss"]), 0)

    def test_an_interrupt_stops_between_iterations(self):
        solver = self.solver()
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))  # runs beside: the lock is free meanwhile
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            solver.step(100_000_000)
        self.assertGreater(solver.iter, 0)
        at = solver.iter
        solver.step(2)
        self.assertEqual(solver.iter, at + 2)

    def test_goes_on_where_a_test_was_interrupted(self):
        parameter = self.parameter()
        parameter.test_interval, parameter.test_initialization = 1, False
        parameter.test_iter.append(100_000_000)
        solver = cortado.Solver(parameter)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            solver.step(5)
        self.assertEqual(solver.iter, 1)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):  # which it can only raise where it tests again
            solver.step(5)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            solver.test()

    def test_the_interpreter_ends_with_solvers_and_arrays_alive(self):
        code = (f"import sys, cortado; sys.kept = [cortado.get_solver({self.file!r}) for _ in range(3)]\n"
                "sys.kept += [solver.net.blobs['ip'].data for solver in sys.kept]; sys.kept[0].step(1); print('worked')")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
        self.assertEqual((done.returncode, done.stdout), (0, "worked\n"), done.stderr)

    def test_mistakes(self):
        with self.assertRaisesRegex(cortado.FileError, "nowhere"):
            cortado.get_solver("nowhere.prototxt")
        with open(self.file, "a") as out:
            out.write(' lr_policy: "no such"')
        with self.assertRaises(cortado.ConfigError):
            cortado.get_solver(self.file)
        with self.assertRaises(cortado.FileError):
            solver = cortado.Solver(self.parameter())
            solver.restore("nowhere.solverstate")

    def parameter(self):
        parameter = cortado.proto.caffe_pb2.SolverParameter()
        parameter.net = os.path.join(self.folder.name, "net.prototxt")
        parameter.base_lr = 0.1
        parameter.lr_policy = "fixed"
        parameter.max_iter = 3
        return parameter


if __name__ == "__main__":
    unittest.main()
