#!/usr/bin/env bash
# SOLVER=models/lenet/solver.prototxt [SNAPSHOT=...] bsub -env all <scripts/jobs/lsf.sh
#BSUB -J cortado
#BSUB -n 8
#BSUB -R "span[ptile=2] affinity[core(16)]"
#BSUB -W 04:00
#BSUB -o cortado-%J.log
# Ten minutes before the limit the job is told to snapshot.
#BSUB -wa USR1 -wt 10
set -euo pipefail
: "${SOLVER:?usage: SOLVER=FILE bsub -env all <lsf.sh}"
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-16} OMP_PLACES=cores OMP_PROC_BIND=close OMP_WAIT_POLICY=passive
exec mpirun -n "$LSB_DJOB_NUMPROC" -bind-to core:"$OMP_NUM_THREADS" \
  "${CORTADO:-build/openmp/bin/cortado}" train -solver "$SOLVER" ${SNAPSHOT:+-snapshot "$SNAPSHOT"}
