#!/usr/bin/env bash
# sbatch scripts/jobs/slurm.sh models/lenet/solver.prototxt [SNAPSHOT.solverstate]
#SBATCH --job-name=cortado
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=16
#SBATCH --time=04:00:00
#SBATCH --output=%x-%j.log
# Ten minutes before the limit the job is told to snapshot (USR1); requeue it with the newest .solverstate.
#SBATCH --signal=USR1@600
set -euo pipefail
solver=${1:?usage: sbatch slurm.sh SOLVER [SNAPSHOT]}
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1} OMP_PLACES=cores OMP_PROC_BIND=close OMP_WAIT_POLICY=passive
resume=()
[ $# -ge 2 ] && resume=(-snapshot "$2")
exec mpirun -n "$SLURM_NTASKS" -bind-to core:"$OMP_NUM_THREADS" \
  "${CORTADO:-build/openmp/bin/cortado}" train -solver "$solver" "${resume[@]}"
