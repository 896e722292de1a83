#!/usr/bin/env bash
# A Slurm of one host, for trying the scripts in slurm/ and for CI: munged, slurmctld and slurmd on localhost, no systemd needed.
# usage: scripts/local_slurm.sh start|stop|status [FOLDER]     (as root; FOLDER: where it lives, build/slurm)
# After start: export SLURM_CONF=FOLDER/slurm.conf
# PARDNN_SLURM_NODES=2: two nodes, node1 and node2, a slurmd each. PMIx does not start steps over both: srun --mpi=none.
# Jobs of partition urgent preempt those of local, the default, which have 60 s to end and are requeued.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
if (($# < 1)) || [[ $1 == --help || $1 == -h ]]; then
  sed -n '2,6s/^# //p' "${BASH_SOURCE[0]}"
  exit 0
fi
action=$1
mkdir -p "${2:-$pardnn_root/build/slurm}"
home=$(cd "${2:-$pardnn_root/build/slurm}" && pwd)
export SLURM_CONF=$home/slurm.conf
PATH=$PATH:/usr/sbin:/sbin
# Not Slurm's own ports: another Slurm on this host stays as it is.
controller_port=${PARDNN_SLURM_PORT:-26817}
# Names of nodes that are all this host; empty: one node, by its own name.
nodes=()
for ((node = 1; ${PARDNN_SLURM_NODES:-1} > 1 && node <= PARDNN_SLURM_NODES; ++node)); do nodes+=("node$node"); done

# Unix sockets take short paths only: munge's lies in /tmp whatever the folder is.
socket_folder() {
  printf '/tmp/pardnn-munge-%s\n' "$(printf '%s' "$home" | cksum | cut -d ' ' -f 1)"
}

# node_lines HOST RESOURCES
node_lines() {
  local i
  ((${#nodes[@]})) || printf 'NodeName=%s NodeAddr=127.0.0.1 %s\n' "$1" "$2"
  for i in "${!nodes[@]}"; do
    printf 'NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d %s\n' "${nodes[i]}" "$1" $((controller_port + 2 + i)) "$2"
  done
}

write_configuration() {
  local host cpus memory each=
  ((${#nodes[@]} == 0)) || each=-%n
  host=$(hostname -s)
  cpus=$(nproc)
  # Four tasks must find room, also where there are fewer CPUs.
  ((cpus < 4)) && cpus=4
  memory=$(awk '/^MemTotal:/ {print int($2 / 1024 * 0.9)}' /proc/meminfo)
  cat >"$SLURM_CONF" <<END
ClusterName=pardnn
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$controller_port
SlurmdPort=$((controller_port + 1))
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$(socket_folder)/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
JobRequeue=1
KillWait=20
MinJobAge=3600
SchedulerParameters=sched_interval=2,bf_interval=5
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmdParameters=config_overrides
StateSaveLocation=$home/state
SlurmdSpoolDir=$home/spool$each
SlurmctldPidFile=$home/slurmctld.pid
SlurmdPidFile=$home/slurmd$each.pid
SlurmctldLogFile=$home/slurmctld.log
SlurmdLogFile=$home/slurmd$each.log
$(node_lines "$host" "CPUs=$cpus RealMemory=$memory State=UNKNOWN")
PartitionName=local Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=60
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=2 PreemptMode=OFF
END
}

start_munge() {
  local folder
  folder=$(socket_folder)
  install -d -m 700 "$home/munge"
  install -d -m 755 "$folder"
  if [[ ! -s $home/munge/key ]]; then
    (umask 077 && dd if=/dev/urandom of="$home/munge/key" bs=128 count=1 status=none)
  fi
  # --force: root may run it, and folders above may be open to others.
  munged --force --key-file "$home/munge/key" --socket "$folder/socket" --pid-file "$home/munged.pid" \
    --log-file "$home/munged.log" --seed-file "$home/munge/seed" 2>>"$home/start.log"
}

# is_running NAME
is_running() {
  local pid
  pid=$(cat "$home/$1.pid" 2>/dev/null) && [[ -n $pid ]] && kill -0 "$pid" 2>/dev/null
}

show_logs() {
  tail -n 20 "$home"/*.log >&2 || true
}

start() {
  [[ $(id -u) == 0 ]] || fail "only root can start a Slurm of its own"
  local -a missing
  mapfile -t missing < <(missing_of slurm-wlm munge)
  ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
  if is_running slurmctld && is_running "slurmd${nodes[0]:+-${nodes[0]}}"; then
    say "Slurm is running in $home"
    return
  fi
  rm -rf "$home/state" "$home/spool" "$home"/*.log
  mkdir -p "$home/state" "$home/spool" "${nodes[@]/#/$home/spool-}"
  write_configuration
  is_running munged || start_munge
  slurmctld
  ((${#nodes[@]})) || slurmd
  local i node
  for node in "${nodes[@]}"; do slurmd -N "$node"; done
  for ((i = 0; i < 60; ++i)); do
    if [[ $(sinfo --noheader --format '%D %t' 2>/dev/null) == "$((${#nodes[@]} ? ${#nodes[@]} : 1)) idle"* ]]; then
      say "Slurm $(sinfo --version | cut -d ' ' -f 2) on $(hostname -s), $(srun --mpi=list 2>&1 | tr -s '\n\t' '  ')"
      say "export SLURM_CONF=$SLURM_CONF"
      return
    fi
    sleep 1
  done
  show_logs
  fail "Slurm did not start: logs in $home"
}

stop() {
  local name i file
  local -a daemons=()
  for file in "$home"/slurmd*.pid; do
    name=${file##*/}
    daemons+=("${name%.pid}")
  done
  [[ ! -f $SLURM_CONF ]] || scancel --user root 2>/dev/null || true
  for name in "${daemons[@]}" slurmctld munged; do
    is_running "$name" || continue
    kill "$(cat "$home/$name.pid")"
    for ((i = 0; i < 50; ++i)); do
      is_running "$name" || break
      sleep 0.2
    done
  done
  rm -rf "$(socket_folder)"
  say "Slurm in $home is stopped"
}

case $action in
  start) start ;;
  stop) stop ;;
  status) sinfo && squeue ;;
  *) fail "unknown action '$action': expected start, stop or status" ;;
esac
