"""The wheel: what CMake builds, as pip wants it. `pip install .` builds preset openmp, or CORTADO_PRESET."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

root = Path(__file__).resolve().parent
preset = os.environ.get("CORTADO_PRESET", "openmp")
os.makedirs(root / "build", exist_ok=True)  # the folder of egg-info


def lasting_python():
    """The Python behind a virtual environment, which the build folder outlives, where it has what the module needs."""
    base = os.path.realpath(sys.executable)
    done = subprocess.run([base, "-c", "import numpy, google.protobuf"], capture_output=True)
    return base if done.returncode == 0 else sys.executable


class Built(build_ext):
    """Builds the module by scripts/setup, and puts it, its library and that one's modules into the package."""

    def run(self):
        subprocess.run([root / "scripts/setup", preset, "cortado_python", "cortado_modules"], cwd=root,
                       env={**os.environ, "CORTADO_PYTHON": lasting_python()}, check=True)
        built = root / "build" / preset
        package = Path(self.get_ext_fullpath("cortado._cortado")).parent
        for folder in (package / "proto", package / "cortado"):
            os.makedirs(folder, exist_ok=True)
        for file in (built / "python/cortado").glob("_cortado*.so"):
            shutil.copy(file, package)
        shutil.copy(built / "python/cortado/proto/caffe_pb2.py", package / "proto")
        for file in (built / "lib").glob("libcortado.so.*"):
            shutil.copy(file, package)
        for file in (built / "lib/cortado").glob("*.so"):  # libcortado looks for them in this folder beside itself
            shutil.copy(file, package / "cortado")


version = re.search(r"project\(cortado VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text())[1]
setup(version=version, ext_modules=[Extension("cortado._cortado", [])], cmdclass={"build_ext": Built})
