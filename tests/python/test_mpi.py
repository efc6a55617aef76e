"""mpi4py beside Cortado: one MPI library, in either order of imports; another one is an error that names both."""
import importlib.util
import subprocess
import sys
import unittest

FAKE = """
import sys, types
sys.modules["mpi4py"] = types.ModuleType("mpi4py")
sys.modules["mpi4py.MPI"] = types.SimpleNamespace(Get_library_version=lambda: "Some MPI 9.9\\nof nobody")
import cortado
try:
    cortado.rank()
except cortado.ConfigError as error:
    print(error)
"""
TOGETHER = """
import cortado
if {first}: assert (cortado.rank(), cortado.ranks()) == (0, 1)
from mpi4py import MPI
print(MPI.COMM_WORLD.allreduce(cortado.ranks() + cortado.rank()))
"""


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)


def same_library():
    """True if there is an mpi4py of the MPI library that Cortado uses."""
    if importlib.util.find_spec("mpi4py") is None:
        return False
    code = "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(MPI.Get_library_version())"
    theirs = run(code).stdout
    ours = run(FAKE).stdout
    name = " ".join(theirs.split("\n")[0].strip("\0").split())
    return bool(name) and f"Cortado runs {name}," in ours


class Mpi(unittest.TestCase):
    def test_two_libraries(self):
        done = run(FAKE)
        self.assertRegex(done.stdout, r"MPI: Cortado runs .*(MPICH|MPI).*, and mpi4py runs Some MPI 9.9 .let both use one",
                         done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(same_library(), "no mpi4py of Cortado's MPI library")
    def test_one_library(self):
        for first in (True, False):
            done = run(TOGETHER.format(first=first))
            self.assertEqual((done.returncode, done.stdout), (0, "1\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
