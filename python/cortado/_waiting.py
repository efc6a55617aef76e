"""How OpenMP's threads wait for work: as the command line has it, and before its runtime is loaded with the bindings."""
import os

SPINS = 1000  # pauses of 20 to 50 ns: longer than most gaps between two launches


def settle():
    """Decides unless the user has. Threads that spin take the time of working threads wherever processors are shared:
    ranks that share a node sleep at once, others spin for some 50 us."""
    if any(name in os.environ for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")):
        return
    ranks = [os.environ.get(name, "") for name in ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE",
                                                   "MV2_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE")]
    if any(number.isdigit() and int(number) > 1 for number in ranks):
        os.environ["OMP_WAIT_POLICY"] = "passive"
    else:
        os.environ["GOMP_SPINCOUNT"] = str(SPINS)
        os.environ["KMP_BLOCKTIME"] = "1"  # LLVM's and Intel's runtime: milliseconds


settle()
