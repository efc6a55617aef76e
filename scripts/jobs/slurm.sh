#!/usr/bin/env bash
# sbatch [--nodes=2 --ntasks-per-node=2 --cpus-per-task=16 --time=4:00:00] scripts/jobs/slurm.sh SOLVER [FLAGS OF train]
# Trains until the solver's max_iter, over as many time limits as that takes: before a limit the job snapshots, ends and
# is queued again, and goes on from the newest snapshot of the solver's snapshot_prefix. So it does after a node fails.
# A site edits the five lines below, or gives the same options to sbatch, and the line that starts the ranks.
#SBATCH --nodes=1 --ntasks-per-node=1
#SBATCH --time=04:00:00
##SBATCH --partition=NAME --account=NAME
#SBATCH --job-name=cortado --output=%x-%j.log
# So many seconds before the limit: longer than an iteration, a snapshot and a test take.
#SBATCH --signal=B:USR1@300
#SBATCH --requeue --open-mode=append
set -euo pipefail
solver=${1:?usage: sbatch [OPTIONS] slurm.sh SOLVER [FLAGS OF train]}
shift
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1} OMP_PLACES=cores OMP_PROC_BIND=close OMP_WAIT_POLICY=passive
# Or: start=(srun --mpi=pmi2), --mpi=pmix where MPI is built for that. `srun --mpi=list` says what there is.
start=(mpirun -n "${SLURM_NTASKS:-1}" -bind-to core:"$OMP_NUM_THREADS")

# The job ends where training would end with an error anyway; warnings stand in the log.
"${start[@]}" "${CORTADO:-build/openmp/bin/cortado}" doctor -solver "$solver" || [ $? -ne 3 ] || exit 3

training='' signalled='' again=''
pass_on() { signalled=1 && [ -z "$training" ] || kill -USR1 "$training" 2>/dev/null || true; }
trap 'again=1; pass_on' USR1
trap pass_on TERM # cancelled or preempted: snapshot and end, but do not come again by ourselves
"${start[@]}" "${CORTADO:-build/openmp/bin/cortado}" train -solver "$solver" -snapshot auto -sigusr1_effect stop "$@" &
training=$!
wait "$training" && code=0 || code=$?
while [ -n "$signalled" ]; do # a signal ends `wait`, not the training
  signalled=''
  wait "$training" && ended=0 || ended=$?
  [ $ended -eq 127 ] || code=$ended # 127: it had ended before
done
if [ -n "$again" ] && [ "$code" -eq 0 ]; then
  echo "The time limit is near: queueing job $SLURM_JOB_ID again."
  exec scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
