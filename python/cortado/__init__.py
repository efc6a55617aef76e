"""Cortado in Python: nets and solvers in Caffe's formats, with Caffe's own interface.

    import cortado
    net = cortado.Net("deploy.prototxt", "net.caffemodel", cortado.TEST)
    net.forward(data=images)["prob"]

Code that imports caffe runs after `import cortado.caffe; cortado.caffe.install()`. docs/use/python.md has the rest.
"""
from . import _waiting  # first: before the bindings load OpenMP
from . import _cortado
from ._cortado import (Blob, ConfigError, Error, FileError, NumericError, PeerError, PlanError, ShapeError, __version__,
                       layer_type_list, log, rank, ranks, set_random_seed)
from . import io, layer, net, net_spec, proto, solver
from .classifier import Classifier
from .detector import Detector
from .layer import Layer
from .net import Net
from .net_spec import NetSpec, layers, params, to_proto
from .proto.caffe_pb2 import TEST, TRAIN
from .solver import (AdaDeltaSolver, AdaGradSolver, AdamSolver, NesterovSolver, RMSPropSolver, SGDSolver, Solver,
                     get_solver)


def set_mode_cpu():
    """Does nothing: the backend is chosen as Cortado is built."""


def set_mode_gpu():
    """Does nothing: the backend is chosen as Cortado is built."""


def set_device(number):
    """Nets and solvers run on this GPU, where the backend has GPUs. Before the first net."""
    _cortado.set_devices([str(number)])


def init_log(level=0, to_stderr=True):
    """Writes log lines from this level on to standard error: 0 all, 1 warnings, 2 errors. `to_stderr` is Caffe's."""
    _cortado.set_log_level(level)


def has_nccl():
    """False: solvers exchange gradients among the ranks of mpirun by themselves."""
    return False


def solver_count():
    """The number of ranks that train together."""
    return ranks()


def solver_rank():
    """This process's number among them."""
    return rank()
