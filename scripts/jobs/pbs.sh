#!/usr/bin/env bash
# qsub -v SOLVER=models/lenet/solver.prototxt[,SNAPSHOT=...] scripts/jobs/pbs.sh
#PBS -N cortado
#PBS -l select=4:ncpus=32:mpiprocs=2:ompthreads=16
#PBS -l walltime=04:00:00
#PBS -j oe
set -euo pipefail
cd "$PBS_O_WORKDIR"
: "${SOLVER:?usage: qsub -v SOLVER=FILE pbs.sh}"
ranks=$(wc -l <"$PBS_NODEFILE")
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-16} OMP_PLACES=cores OMP_PROC_BIND=close OMP_WAIT_POLICY=passive
exec mpirun -n "$ranks" -f "$PBS_NODEFILE" -bind-to core:"$OMP_NUM_THREADS" \
  "${CORTADO:-build/openmp/bin/cortado}" train -solver "$SOLVER" ${SNAPSHOT:+-snapshot "$SNAPSHOT"}
