#!/usr/bin/env python3
"""Memory of many ranks on one host: rank_memory.py PARDNN GRAPH.h5 RANKS ARGUMENT... (arguments of `pardnn partition`)

Runs the search under mpirun, one seed for each rank, samples the proportional set sizes (PSS: shared pages count once in all) of the
ranks from /proc/PID/smaps_rollup and prints, in bytes: G, the shared pages of all ranks, which is the graph; W, the greatest private
memory of a rank that never reads the file (MPI's own included); the greatest sum of PSS over the ranks, from the moment on at which all
of them have the graph; and the limit G + RANKS x W + 10 %. Exit code 1 past it.
"""
import os
import subprocess
import sys
import time


def children(parent):
    """Processes called pardnn below `parent`."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                program, _, rest = file.read().partition("(")[2].partition(")")
        except OSError:
            continue
        if program == "pardnn" and int(rest.split()[1]) == parent:
            found.append(int(name))
    return found


def memory(pid):
    """(PSS, of it shared) in bytes; zeros for a process that is gone."""
    values = {}
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
            for line in file:
                key, _, rest = line.partition(":")
                if rest.endswith("kB\n"):
                    values[key] = int(rest.split()[0]) * 1024
    except OSError:
        return 0, 0
    return values.get("Pss", 0), values.get("Pss_Shmem", 0)


def watch(command, ranks):
    """Greatest sum of PSS over all ranks while all of them have the graph mapped; greatest private and shared part of one of the last ranks, which never reads."""
    peak, private, shared = 0, 0, 0
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        sizes = [memory(pid) for pid in sorted(children(process.pid))]
        if len(sizes) == ranks and all(s for _, s in sizes):
            peak = max(peak, sum(p for p, _ in sizes))
            shared = max(shared, sum(s for _, s in sizes))
            private = max(private, sizes[-1][0] - sizes[-1][1])
        time.sleep(0.02)
    if process.returncode not in (0, 2):
        raise SystemExit(f"exit code {process.returncode}: {' '.join(command)}")
    return peak, private, shared


def main():
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    program, graph, ranks, arguments = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
    command = [program, "partition", graph, *arguments, "--threads", "1", "--seeds", str(ranks)]
    total, working, shared = watch(["mpirun", "-n", str(ranks), *command], ranks)
    limit = (shared + ranks * working) * 11 // 10
    rows = [("G, the graph, shared", shared), ("W, working state of one rank", working), (f"sum of PSS over {ranks} ranks", total),
            ("limit, G + RANKS W + 10 %", limit), ("with a graph for each rank", ranks * (shared + working))]
    for what, value in rows:
        print(f"{what:<30} {value:>15,} B")
    sys.exit(0 if total <= limit else 1)


main()
