#!/usr/bin/env bash
# SOLVER=solver.prototxt [FLAGS="FLAGS OF train"] bsub [-n 8 -R "span[ptile=2]" -W 04:00] -env all <scripts/jobs/lsf.sh
# Trains until the solver's max_iter, over as many run limits as that takes: before a limit the job snapshots, ends and
# is queued again, and goes on from the newest snapshot of the solver's snapshot_prefix. So it does after a host fails.
# A site edits the lines below, or gives the same options to bsub, and the line that starts the ranks.
#BSUB -n 1
#BSUB -W 04:00
##BSUB -q NAME -P NAME
#BSUB -J cortado
#BSUB -o cortado-%J.log
# So many minutes before the limit: longer than an iteration, a snapshot and a test take. Exit code 99 means "again".
#BSUB -wa USR1 -wt 5
#BSUB -r
#BSUB -Q 99
set -euo pipefail
: "${SOLVER:?usage: SOLVER=FILE bsub [OPTIONS] -env all <lsf.sh}"
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} OMP_PLACES=cores OMP_PROC_BIND=close OMP_WAIT_POLICY=passive
start=(mpirun -n "${LSB_DJOB_NUMPROC:-1}" -bind-to core:"$OMP_NUM_THREADS")

# The job ends where training would end with an error anyway; warnings stand in the log.
"${start[@]}" "${CORTADO:-build/openmp/bin/cortado}" doctor -solver "$SOLVER" || [ $? -ne 3 ] || exit 3

training='' signalled='' again=''
pass_on() { signalled=1 && [ -z "$training" ] || kill -USR1 "$training" 2>/dev/null || true; }
trap 'again=1; pass_on' USR1
trap pass_on TERM
# shellcheck disable=SC2086 # FLAGS are several words
"${start[@]}" "${CORTADO:-build/openmp/bin/cortado}" train -solver "$SOLVER" -snapshot auto -sigusr1_effect stop ${FLAGS:-} &
training=$!
wait "$training" && code=0 || code=$?
while [ -n "$signalled" ]; do # a signal ends `wait`, not the training
  signalled=''
  wait "$training" && ended=0 || ended=$?
  [ $ended -eq 127 ] || code=$ended # 127: it had ended before
done
if [ -n "$again" ] && [ "$code" -eq 0 ]; then
  echo "The run limit is near: queueing job ${LSB_JOBID:-} again."
  exit 99
fi
exit "$code"
