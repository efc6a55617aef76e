"""scripts/check-python over a checkout of Caffe with tests of our own: each outcome is told, and counted."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import cortado

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / 'scripts/check-python'
PACKAGE = pathlib.Path(cortado.__file__).parent.parent
GOOD = """
import unittest
import caffe
class Good(unittest.TestCase):
    def test_name(self):
        self.assertEqual(caffe.layers.ReLU(caffe.layers.Input()).fn.type_name, 'ReLU')
    @unittest.skip('not here')
    def test_skipped(self):
        pass
"""
BAD = """
import os
import unittest
class Bad(unittest.TestCase):
    def test_a_fails(self):
        raise KeyError('why')
    def test_b_ends_the_process(self):
        os._exit(3)
    def test_c_is_not_run(self):
        pass
"""


class CheckPythonTest(unittest.TestCase):
    def check(self, **files):
        with tempfile.TemporaryDirectory() as folder:
            tests = pathlib.Path(folder, 'python/caffe/test')
            tests.mkdir(parents=True)
            for name, text in files.items():
                (tests / f'test_{name}.py').write_text(text)
            done = subprocess.run([sys.executable, SCRIPT, folder, '--package', PACKAGE, '--python', sys.executable],
                                  capture_output=True, text=True, env={**os.environ, 'PYTHONPATH': ''})
            self.assertEqual(sorted(os.listdir(tests)), sorted(f'test_{name}.py' for name in files))
        return done.returncode, done.stdout + done.stderr

    def test_all_pass(self):
        status, text = self.check(good=GOOD)
        self.assertEqual(text.splitlines(), ['passed  test_good.Good.test_name',
                                             'skipped test_good.Good.test_skipped: not here',
                                             '1 passed, 0 failed, 1 skipped: 100.0% pass'])
        self.assertEqual(status, 0)

    def test_failures_have_their_reason(self):
        status, text = self.check(good=GOOD, bad=BAD, wrong='import no_such_module')
        self.assertEqual(status, 1)
        for line in ("failed  test_bad.Bad.test_a_fails: KeyError: 'why'\n",
                     'failed  test_bad: the process ended with status 3',
                     'failed  test_bad.Bad.test_b_ends_the_process: was not run to its end\n',
                     'failed  test_bad.Bad.test_c_is_not_run: was not run to its end\n',
                     "No module named 'no_such_module'\n", '1 passed, 5 failed, 1 skipped: 16.7% pass\n'):
            self.assertIn(line, text)

    def test_no_checkout(self):
        status, text = self.check()
        self.assertEqual(status, 2)
        self.assertIn('is no checkout of Caffe', text)


if __name__ == '__main__':
    unittest.main()
