#!/usr/bin/env bash
# Submits the scripts of slurm/ for real, to a Slurm of this host alone (scripts/local_slurm.sh): 2 and 4 tasks, the end of the time
# limit, requeue, preemption, resume, training jobs; and looks at what they wrote. Root only. Training needs a Python with PyTorch: PARDNN_PYTHON, or the one
# that scripts/test_python.sh makes; without one its test is skipped.
# usage: scripts/test_slurm.sh
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$pardnn_root"

set_up
command -v python3 >/dev/null 2>&1 || install_packages python3
say "building into build/ (Release, with tests)"
configure build -DCMAKE_BUILD_TYPE=Release -DPARDNN_TESTS=ON -DPARDNN_MPI=ON >/dev/null
build build | tail -n 1
scratch=$(mktemp -d)
slurm=$scratch/slurm
finish() {
  local status=$?
  ((status == 0)) || tail -n 40 "$scratch"/*.log "$slurm"*/*.log 2>/dev/null || true
  "$pardnn_root/scripts/local_slurm.sh" stop "$slurm" || true
  [[ ! -d $slurm-2 ]] || "$pardnn_root/scripts/local_slurm.sh" stop "$slurm-2" || true
  rm -rf "$scratch"
  exit "$status"
}
trap finish EXIT
scripts/local_slurm.sh start "$slurm"
export SLURM_CONF=$slurm/slurm.conf OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PARDNN_PYTHON=${PARDNN_PYTHON:-$pardnn_root/build/python-tests/bin/python}
# shellcheck source=slurm/site.sh
source slurm/site.sh
data=$PWD/tests/data
cd "$scratch"

# field JOB NAME: what scontrol says of a job.
field() { scontrol show job "$1" | tr -s ' ' '\n' | sed -n "s/^$2=//p" | head -n 1; }

# wait_for JOB SECONDS: until it has ended for good; prints its state. A requeued job, which Slurm holds for two minutes, starts after ten
# seconds (slurmd refuses the credential of a job that it has just ended).
wait_for() {
  local i state restarts hurried=0
  for ((i = 0; i < $2; ++i)); do
    state=$(field "$1" JobState)
    case $state in
      COMPLETED | FAILED | TIMEOUT | CANCELLED | NODE_FAIL | OUT_OF_MEMORY) printf '%s\n' "$state"; return ;;
    esac
    restarts=$(field "$1" Restarts)
    if [[ $(field "$1" Reason) == BeginTime && $restarts != "$hurried" ]]; then
      scontrol update JobId="$1" StartTime=now+10
      hurried=$restarts
    fi
    sleep 1
  done
  printf 'still %s after %d s\n' "$state" "$2"
}

# submit OPTION... -- SCRIPT ARGUMENT...: prints the job's number.
submit() { sbatch --parsable "$@"; }

# expect WHAT GOT WANTED
expect() { [[ $2 == "$3" ]] || fail "$1: $2, expected $3"; say "$1: $2"; }

say "partition.sbatch: one graph, one task"
job=$(submit --cpus-per-task=2 --output=one.log "$PARDNN_ROOT/slurm/partition.sbatch" "$data/pt-gpt2-small-12.h5" --devices 4 --memory 16GiB --preset fast -o "$scratch/one.h5")
expect "job $job" "$(wait_for "$job" 120)" COMPLETED
"$PARDNN" evaluate "$data/pt-gpt2-small-12.h5" one.h5 >/dev/null 2>&1 || fail "one.h5 is no feasible placement"

say "search.sbatch on 2 and 4 tasks: the same bytes as one process"
"$PARDNN" generate random --nodes 150 --seed 2 -q -o g.h5
search=("$scratch/g.h5" --devices 4 --bandwidth 10GB/s --seeds 7)
SECONDS=0
env -u SLURM_NTASKS "$PARDNN" partition "${search[@]}" -q -o whole.h5
one_seed_ms=$((SECONDS * 1000 / 7 + 150))
for tasks in 2 4; do
  job=$(submit --nodes=1 --ntasks-per-node=$tasks --output=search$tasks.log "$PARDNN_ROOT/slurm/search.sbatch" "${search[@]}" --ranks $tasks -o "$scratch/search$tasks.h5")
  expect "job $job on $tasks tasks" "$(wait_for "$job" 180)" COMPLETED
  cmp whole.h5 search$tasks.h5 || fail "$tasks tasks: another placement"
done

say "processes that do not know of one another are refused"
status=0
srun --ntasks=2 --mpi=none "$PARDNN" partition "${search[@]}" -o "$scratch/none.h5" 2>none.log || status=$?
expect "srun --mpi=none" "$status" 3
expect "its complaints" "$(grep -c 'pardnn: error:' none.log)" 1
[[ ! -e none.h5 ]] || fail "none.h5 was written"

# Two tasks, work for about 70 s, one minute at a time: stopped by the signal before the end of the time limit, requeued, finished.
say "search.sbatch is stopped by its time limit, requeued, and finishes"
seeds=$((140000 / one_seed_ms))
search=("$scratch/g.h5" --devices 4 --bandwidth 10GB/s --seeds "$seeds")
job=$(submit --nodes=1 --ntasks-per-node=2 --time=1 --signal=B:USR1@20 --output=requeue.log "$PARDNN_ROOT/slurm/search.sbatch" "${search[@]}" -o "$scratch/requeue.h5")
state=$(wait_for "$job" 900)
restarts=$(field "$job" Restarts)
cat requeue.log
expect "job $job" "$state" COMPLETED
((restarts >= 1)) || fail "job $job was never requeued: $seeds seeds were too few for a minute"
say "job $job was requeued $restarts times"
grep -q 'checkpoint: [1-9][0-9]* of' requeue.log || fail "it did not go on from its checkpoint"
launch 2 1 "$PARDNN" partition "${search[@]}" -q -o "$scratch/whole.h5"
cmp whole.h5 requeue.h5 || fail "the requeued search has another result than one that was never stopped"
say "the same bytes as an uninterrupted search of $seeds seeds"

# losses_of FILE: the losses of a training run.
losses_of() { grep -o '^step [0-9]*: loss [0-9.]*' "$1"; }

model=$PARDNN_ROOT/scripts/examples/word_rnn.py:step
sizes=(--set layers=2 --set hidden=32 --set length=4 --set vocabulary=100 --set batch=8)

# submit_training TASKS NODES FOLDER ARGUMENT...: a training job with so many tasks on each node; prints its number.
submit_training() {
  local tasks=$1 nodes=$2 folder=$3
  shift 3
  PARDNN_TRAINING=$folder submit --nodes="$nodes" --ntasks-per-node="$tasks" --output="$folder.log" "$PARDNN_ROOT/slurm/train.sbatch" "$@"
}

# train TASKS NODES FOLDER ARGUMENT...: the same; waits for it; prints its state and exit code.
train() {
  local job
  job=$(submit_training "$@")
  printf '%s %s\n' "$(wait_for "$job" 600)" "$(field "$job" ExitCode)"
}

# wait_for_step FILE STEP: until a training job has done it.
wait_for_step() {
  local i
  for ((i = 0; i < 1200; ++i)); do
    ! grep -q "^step $2: loss" "$1" 2>/dev/null || return 0
    sleep 0.1
  done
  fail "$1: no step $2 within two minutes"
}

# same_training FOLDER OTHER STEPS: the losses of the one, in however many starts, are those of the other, each step once; and so are their states.
same_training() {
  expect "steps of $1" "$(losses_of "$1.log" | wc -l)" "$3"
  cmp <(losses_of "$1.log") <(losses_of "$2.log") || fail "$1: other losses than those of $2"
  "$PARDNN_PYTHON" - "$1.pt" "$2.pt" <<'END' || fail "$1.pt is not $2.pt"
import sys, torch

def tensors(content, path=()):
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, (list, tuple)) else ()
    return {path: content} if not items else {k: v for name, value in items for k, v in tensors(value, (*path, name)).items()}

a, b = (tensors(torch.load(file, weights_only=True)) for file in sys.argv[1:])
assert len(a) > 10 and a.keys() == b.keys()
sys.exit(not all(torch.equal(v, b[k]) if isinstance(v, torch.Tensor) else v == b[k] for k, v in a.items()))
END
}

# Two replicas on two devices: stopped a while before the end of the time limit, as Slurm tells the script; preempted by a more urgent job; cancelled.
test_training_is_stopped() {
  local job urgent steps=600 arguments
  arguments=("$model" "${sizes[@]}" -- --devices 2 --devices-per-replica 1 --preset fast -- --steps "$steps")
  say "train.sbatch: in one go"
  expect "training" "$(train 2 1 onego "${arguments[@]}" --save onego.pt)" "COMPLETED 0:0"

  say "train.sbatch: the time is nearly over"
  job=$(submit_training 2 1 limited "${arguments[@]}" --save limited.pt)
  wait_for_step limited.log 20
  scancel --batch --signal=USR1 "$job"
  expect "job $job" "$(wait_for "$job" 300) after $(field "$job" Restarts) restarts" "COMPLETED after 1 restarts"
  expect "captures and plans" "$(grep -c '^train: \(capture\|plan\)$' limited.log)" 2
  grep -q 'stopped     by signal 15' limited.log || fail "the ranks kept nothing"
  same_training limited onego "$steps"

  say "train.sbatch: preempted"
  job=$(submit_training 2 1 preempted "${arguments[@]}" --save preempted.pt)
  wait_for_step preempted.log 20
  urgent=$(submit --partition=urgent --exclusive --output=urgent.log --wrap 'sleep 2')
  expect "the urgent job $urgent" "$(wait_for "$urgent" 120)" COMPLETED
  expect "job $job" "$(wait_for "$job" 300) after $(field "$job" Restarts) restarts" "COMPLETED after 1 restarts"
  same_training preempted onego "$steps"

  say "train.sbatch: cancelled"
  job=$(submit_training 2 1 cancelled "${arguments[@]}")
  wait_for_step cancelled.log 20
  scancel "$job"
  expect "job $job" "$(wait_for "$job" 60) after $(field "$job" Restarts) restarts" "CANCELLED after 0 restarts"
  say "train.sbatch: what was cancelled is submitted again"
  expect "training" "$(train 2 1 cancelled "${arguments[@]}" --save cancelled.pt)" "COMPLETED 0:0"
  same_training cancelled onego "$steps"
  expect "a folder of other arguments" "$(train 2 1 cancelled "$model" --set layers=1)" "FAILED 3:0"
  grep -q '^train: cancelled is of other arguments' cancelled.log || fail "no word of the other arguments"

  say "train.sbatch: there is not time enough for anything"
  job=$(submit_training 2 1 short "${arguments[@]}")
  for ((; ; )); do
    grep -q '^train: capture' short.log 2>/dev/null && break
    sleep 0.05
  done
  scancel --batch --signal=USR1 "$job"
  expect "job $job" "$(wait_for "$job" 120) after $(field "$job" Restarts) restarts" "FAILED after 0 restarts"
  grep -q '^train: nothing was finished before the time was over' short.log || fail "no word of the time"
}

test_training() {
  say "train.sbatch: two of three devices, as memory demands"
  expect "training" "$(train 3 1 split "$model" "${sizes[@]}" -- --devices 3 --memory 420kB --devices-per-replica 2 --preset fast -- --steps 4 --save split.pt)" "COMPLETED 0:0"
  expect "steps" "$(losses_of split.log | wc -l)" 4
  [[ -s split.pt ]] || fail "no state was saved"
  grep -q 'transfers   [1-9]' split.log || fail "nothing was sent between the devices"
  "$PARDNN_PYTHON" -m pardnn.run split/graph.h5 split/placements/1x2.h5 --launch 2 --model "$model" "${sizes[@]}" --steps 4 >alone.log
  cmp <(losses_of split.log) <(losses_of alone.log) || fail "other losses than without Slurm"
  say "train.sbatch: two replicas on the devices of the job, which are measured"
  expect "training" "$(train 2 1 measured "$model" "${sizes[@]}" -- --devices-per-replica 1 --preset fast -- --steps 2)" "COMPLETED 0:0"
  grep -q '^train: 2 ranks on 1 nodes' measured.log || fail "not two replicas"
  "$PARDNN" partition measured/graph.h5 --machine measured/machine.json --preset fast -q || fail "no machine file"
  say "train.sbatch: what cannot be"
  expect "a model that is not there" "$(train 1 1 wrong gone.py:step)" "FAILED 3:0"
  grep -q 'gone.py: no such file' wrong.log || fail "no word of the missing model"
  expect "its folder with a model that is" "$(train 1 1 wrong "$model" "${sizes[@]}" -- --devices 1 --preset fast -- --steps 1)" "COMPLETED 0:0"
}

# A Slurm of two nodes, both this host, and a machine of two hosts with two devices each.
test_training_on_two_nodes() {
  say "train.sbatch: two replicas of two devices on two nodes"
  "$PARDNN_ROOT/scripts/local_slurm.sh" stop "$slurm"
  PARDNN_SLURM_NODES=2 "$PARDNN_ROOT/scripts/local_slurm.sh" start "$slurm-2"
  export SLURM_CONF=$slurm-2/slurm.conf MASTER_ADDR=127.0.0.1
  cat >cluster.json <<'END'
{"name": "two hosts",
 "devices": [{"count": 2, "host": 0, "memory": "420kB", "name": "a/cpu{i}"}, {"count": 2, "host": 1, "memory": "420kB", "name": "b/cpu{i}"}],
 "links": {"same_host": {"latency": "3us", "bandwidth": "10GB/s"}, "cross_host": {"latency": "12us", "bandwidth": "1GB/s"}}}
END
  expect "training" "$(train 2 2 nodes "$model" "${sizes[@]}" -- --machine cluster.json --preset fast -- --steps 2)" "COMPLETED 0:0"
  grep -q '^train: 4 ranks on 2 nodes' nodes.log || fail "not two replicas on two nodes"
  expect "nodes of the ranks" "$(tr '\n' ' ' <nodes/hosts)" "node1 node1 node2 node2 "

  say "train.sbatch: requeued on another node"
  local job node arguments=("$model" "${sizes[@]}" -- --devices 2 --devices-per-replica 1 --preset fast -- --steps 600)
  job=$(submit_training 2 1 moved "${arguments[@]}" --save moved.pt)
  wait_for_step moved.log 20
  node=$(field "$job" NodeList)
  scontrol update NodeName="$node" State=DRAIN Reason=test
  scancel --batch --signal=USR1 "$job"
  expect "job $job" "$(wait_for "$job" 300) after $(field "$job" Restarts) restarts" "COMPLETED after 1 restarts"
  [[ $(field "$job" NodeList) != "$node" ]] || fail "it went on on the same node $node"
  expect "nodes of the ranks" "$(sort -u moved/hosts)" "$(field "$job" NodeList)"
  scontrol update NodeName="$node" State=RESUME
  same_training moved onego 600
}

if "$PARDNN_PYTHON" -c 'import torch, h5py' 2>/dev/null; then
  test_training
  test_training_is_stopped
else
  say "SKIPPED: train.sbatch, there is no PyTorch in $PARDNN_PYTHON (scripts/test_python.sh makes it)"
fi

say "scaling.sbatch"
job=$(PARDNN_REPEATS=1 PARDNN_SCALING=$scratch/scaling submit --ntasks-per-node=2 --output=scaling.log "$PARDNN_ROOT/slurm/scaling.sbatch" "$scratch/g.h5" --devices 4 --bandwidth 10GB/s --seeds 4)
expect "job $job" "$(wait_for "$job" 180)" COMPLETED
cat scaling.csv
expect "rows of scaling.csv" "$(wc -l <scaling.csv)" 5
grep -q '</svg>' scaling.svg || fail "scaling.svg is not whole"

say "tests.sbatch"
job=$(submit --output=tests.log "$PARDNN_ROOT/slurm/tests.sbatch" --quick -R '^(ranks|seeds|checkpoint)\.')
expect "job $job" "$(wait_for "$job" 900)" COMPLETED
grep 'tests passed' tests.log
expect "numbers of tasks tried" "$(grep -c 'the same bytes' tests.log)" 4
if "$PARDNN_PYTHON" -c 'import torch, h5py' 2>/dev/null; then test_training_on_two_nodes; fi
say "Slurm: all as it should be"
