"""Solvers, with the functions of Caffe's."""
import os

from . import _cortado
from .proto import caffe_pb2

Solver = _cortado.Solver
_make = Solver.__init__


def _source(solver):
    return solver.SerializeToString() if hasattr(solver, "SerializeToString") else os.fspath(solver)


def _init(self, solver, type="", keeps_values=True):
    """Solver(FILE), with the file's type. FILE may also be a SolverParameter. Without `keeps_values` the nets train as
    fast as the command line's, and only losses, scores and parameters can be read."""
    _make(self, _source(solver), type, keeps_values)


def _solve(self, resume_file=None):
    """Trains to max_iter, from a .solverstate if one is given."""
    if resume_file is not None:
        self.restore(os.fspath(resume_file))
    self._solve()


def _share_weights(self, net):
    """From now on the net's parameters are those of the solver's net, by layers' names."""
    net.share_with(self.net)


def _param(self):
    """The solver's parameter, a SolverParameter."""
    return caffe_pb2.SolverParameter.FromString(self._param)


def get_solver(solver, keeps_values=True):
    """The solver that a file, or a SolverParameter, describes."""
    return Solver(solver, keeps_values=keeps_values)


def _of_type(name):
    class OfType(Solver):
        def __init__(self, solver, keeps_values=True):
            _make(self, _source(solver), name, keeps_values)

    OfType.__name__ = OfType.__qualname__ = name + "Solver"
    OfType.__doc__ = f"A solver of type {name}, whatever its file says."
    return OfType


Solver.__init__ = _init
Solver.solve = _solve
Solver.share_weights = _share_weights
Solver.param = property(_param, doc=_param.__doc__)
SGDSolver, NesterovSolver, AdaGradSolver = _of_type("SGD"), _of_type("Nesterov"), _of_type("AdaGrad")
RMSPropSolver, AdaDeltaSolver, AdamSolver = _of_type("RMSProp"), _of_type("AdaDelta"), _of_type("Adam")
