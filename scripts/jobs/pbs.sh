#!/usr/bin/env bash
# qsub [-l select=4:ncpus=32:mpiprocs=2:ompthreads=16 -l walltime=04:00:00] -v SOLVER=solver.prototxt[,FLAGS="..."] scripts/jobs/pbs.sh
# Trains until the solver's max_iter, over as many time limits as that takes: before a limit the job snapshots, ends and
# submits itself again, and goes on from the newest snapshot of the solver's snapshot_prefix.
# A site edits the lines below, or gives the same options to qsub, and the line that starts the ranks.
#PBS -l select=1:ncpus=1:mpiprocs=1:ompthreads=1
#PBS -l walltime=04:00:00
##PBS -q NAME -A NAME
#PBS -N cortado
#PBS -j oe
#PBS -r y
set -euo pipefail
cd "$PBS_O_WORKDIR"
: "${SOLVER:?usage: qsub [OPTIONS] -v SOLVER=FILE pbs.sh}"
# So many seconds before the limit: longer than an iteration, a snapshot and a test take. PBS sends no signal then.
before=300
log=${LOG:-cortado-${PBS_JOBID%%.*}.log}
exec >>"$log" 2>&1
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} OMP_PLACES=cores OMP_PROC_BIND=close OMP_WAIT_POLICY=passive
start=(mpirun -n "$(wc -l <"$PBS_NODEFILE")" -f "$PBS_NODEFILE" -bind-to core:"$OMP_NUM_THREADS")

# What this job was granted, for the next one.
granted() { qstat -f "$PBS_JOBID" | sed -n "s/^ *Resource_List\.$1 = //p"; }
# The job ends where training would end with an error anyway; warnings stand in the log.
"${start[@]}" "${CORTADO:-build/openmp/bin/cortado}" doctor -solver "$SOLVER" || [ $? -ne 3 ] || exit 3
limit=$(granted walltime | awk -F: '{print $1 * 3600 + $2 * 60 + $3}')
training='' signalled='' again=''
pass_on() { signalled=1 && [ -z "$training" ] || kill -USR1 "$training" 2>/dev/null || true; }
trap 'again=1; pass_on' USR1
trap pass_on TERM
# shellcheck disable=SC2086 # FLAGS are several words
"${start[@]}" "${CORTADO:-build/openmp/bin/cortado}" train -solver "$SOLVER" -snapshot auto -sigusr1_effect stop ${FLAGS:-} &
training=$!
alarm=''
if [ -n "$limit" ]; then
  (
    sleep $((limit > before ? limit - before : limit / 2)) &
    trap 'kill $!; exit' TERM
    wait $! && kill -USR1 $$
  ) &
  alarm=$!
fi
wait "$training" && code=0 || code=$?
while [ -n "$signalled" ]; do # a signal ends `wait`, not the training
  signalled=''
  wait "$training" && ended=0 || ended=$?
  [ $ended -eq 127 ] || code=$ended # 127: it had ended before
done
[ -z "$alarm" ] || kill "$alarm" 2>/dev/null || true
if [ -n "$again" ] && [ "$code" -eq 0 ]; then
  echo "The time limit is near: submitting the job again."
  exec qsub -l "select=$(granted select)" -l "walltime=$(granted walltime)" -v "SOLVER=$SOLVER,FLAGS=${FLAGS:-},LOG=$log,CORTADO=${CORTADO:-}" "$0"
fi
exit "$code"
