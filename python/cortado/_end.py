"""How a job of Python ends: all ranks stop where one fails."""
import atexit
import gc
import sys
import traceback

from . import _cortado


def _end():
    gc.collect()
    _cortado._end()


def watch(rank, ranks):
    """From now on the interpreter's end ends the job, and an error that nobody catches ends all ranks."""
    atexit.register(_end)
    if ranks == 1:
        return
    before = sys.excepthook

    def end_all(kind, error, trace):
        if issubclass(kind, KeyboardInterrupt):
            before(kind, error, trace)
        else:
            lines = "".join(traceback.format_exception(kind, error, trace))
            sys.stderr.write("".join(f"rank {rank}: {line}\n" for line in lines.splitlines()))
        sys.stderr.flush()
        sys.stdout.flush()
        _cortado._end_job(1)

    sys.excepthook = end_all
