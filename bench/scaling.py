#!/usr/bin/env python3
"""How `pardnn partition` scales over sizes, threads and ranks.

Graphs are the files given (more_microbatches.py grows captured ones), or generated, one of each size. Each is placed by one thread of one
rank; the greatest also by more threads, and by more ranks of one thread, with one seed for each rank.

NAME.csv          one row a run: CPU seconds of all processes, wall seconds, peak resident bytes of rank 0, makespan / lower bound
NAME-speedup.svg  speedup over threads, and of seeds over ranks
NAME-sizes.svg    CPU time and peak memory over sizes; left out where there is no matplotlib

Exit code 1 if the number of threads changes a makespan.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scripts"))
import scaling_table  # noqa: E402


def numbers(text):
    return sorted({int(number) for number in text.split(",")} | {1})


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the executable pardnn")
    parser.add_argument("graphs", nargs="*", help="graph files; none: generated")
    parser.add_argument("-o", dest="name", required=True, help="NAME of the files written")
    parser.add_argument("--generate", default="transformer", metavar="KIND", help="as in `pardnn generate` (transformer)")
    parser.add_argument("--nodes", default="10000,100000,1000000", help="sizes of generated graphs (10000,100000,1000000)")
    parser.add_argument("--threads", default="1,2", type=numbers, help="(1,2)")
    parser.add_argument("--ranks", default="1,2", type=numbers, help="(1,2; 1: no MPI launcher is needed)")
    parser.add_argument("--launcher", default="mpirun -n", help="command that the number of ranks follows (mpirun -n)")
    parser.add_argument("--repeats", default=3, type=int, help="runs of each (3)")
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--arguments", default="--devices 16", help="more of `pardnn partition` (--devices 16)")
    return parser.parse_intermixed_args()


def generated(program, kind, sizes, folder):
    """One file of each size."""
    files = []
    for nodes in sizes.split(","):
        file = f"{folder}/{kind}-{nodes}.h5"
        subprocess.run([program, "generate", kind, "--nodes", nodes, "-o", file, "--progress", "none"], check=True, stdout=subprocess.DEVNULL)
        files.append(file)
    return files


def environment():
    """Open MPI wants to be told that it may start more ranks than there are CPUs, and as root."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    return {**os.environ, **root, "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def run(command):
    """CPU seconds of the command and all that it started, wall seconds."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 2):
        raise SystemExit(f"exit code {process.returncode}: {' '.join(command)}\n{errors.decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - begin


class Sweep:
    def __init__(self, arguments, folder):
        self.arguments, self.result, self.rows = arguments, f"{folder}/result.json", []

    def measure(self, kind, graph, ranks, threads):
        """One row a run."""
        launcher = [*self.arguments.launcher.split(), str(ranks)] if ranks > 1 else []
        command = [*launcher, self.arguments.program, "partition", graph, "--preset", self.arguments.preset, "--threads", str(threads), "--seeds",
                   str(ranks), "--progress", "none", "--json", self.result, *self.arguments.arguments.split()]
        for repeat in range(1, self.arguments.repeats + 1):
            cpu, wall = run(command)
            with open(self.result, encoding="utf-8") as file:
                result = json.load(file)
            shape = result["graph"]
            self.rows.append({"graph": shape["name"], "nodes": shape["nodes"], "edges": shape["edges"], "kind": kind, "ranks": ranks, "threads": threads,
                              "run": repeat, "seeds": ranks, "cpu_s": f"{cpu:.3f}", "wall_s": f"{wall:.3f}", "peak_rss_bytes": result["peak_rss_bytes"],
                              "makespan_ns": result["makespan_ns"],
                              "makespan_ratio": f'{result["makespan_ns"] / max(1, result["lower_bound_ns"]):.4f}'})

    def greatest(self):
        return max(self.rows, key=lambda row: row["nodes"])

    def speedups(self):
        """Rows of scaling_table.py. One thread of one rank belongs to both kinds."""
        key = (self.greatest()["graph"], self.greatest()["nodes"])
        runs = [row for row in self.rows if (row["graph"], row["nodes"]) == key]
        return scaling_table.table([[kind, row["ranks"], row["threads"], row["run"], row["seeds"], row["wall_s"], row["makespan_ns"]]
                                    for kind in ("threads", "ranks") for row in runs if row["kind"] in ("size", kind)])

    def require_same_makespans(self):
        """Threads change no result."""
        makespans = {}
        for row in self.rows:
            first = makespans.setdefault((row["graph"], row["nodes"], row["seeds"]), row["makespan_ns"])
            if row["makespan_ns"] != first:
                raise SystemExit(f'{row["graph"]}: makespan {row["makespan_ns"]} on {row["threads"]} threads, {first} before')


def by_size(rows):
    """(graph, nodes, median CPU s, greatest peak, makespan ratio) of each graph on one thread of one rank, by nodes."""
    graphs = {}
    for row in rows:
        if row["kind"] == "size":
            graphs.setdefault((row["nodes"], row["graph"]), []).append(row)
    return [(graph, nodes, statistics.median(float(r["cpu_s"]) for r in runs), max(r["peak_rss_bytes"] for r in runs), runs[0]["makespan_ratio"])
            for (nodes, graph), runs in sorted(graphs.items())]


def print_sizes(sizes):
    print(f'{"nodes":>12} {"CPU s":>9} {"us/node":>8} {"B/node":>8}  makespan / bound  graph')
    for graph, nodes, cpu, peak, ratio in sizes:
        print(f"{nodes:>12,} {cpu:>9.3f} {cpu / nodes * 1e6:>8.3f} {peak / nodes:>8.0f}  {ratio:>16}  {graph}")


def plot_sizes(sizes, file):
    """False where there is no matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    figure, (time_axis, memory_axis) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    nodes = [size[1] for size in sizes]
    time_axis.loglog(nodes, [size[2] for size in sizes], "o-")
    time_axis.loglog(nodes, [sizes[-1][2] * n / nodes[-1] for n in nodes], "--", color="#999999", label="linear")
    time_axis.set(xlabel="nodes", ylabel="CPU s")
    time_axis.legend(frameon=False)
    memory_axis.loglog(nodes, [size[3] for size in sizes], "o-")
    memory_axis.set(xlabel="nodes", ylabel="peak resident bytes")
    figure.savefig(file, format="svg", metadata={"Date": None})
    return True


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        sweep = Sweep(arguments, folder)
        for graph in arguments.graphs or generated(arguments.program, arguments.generate, arguments.nodes, folder):
            sweep.measure("size", graph, 1, 1)
            if sweep.rows[-1]["nodes"] == sweep.greatest()["nodes"]:
                greatest = graph
        for threads in arguments.threads[1:]:
            sweep.measure("threads", greatest, 1, threads)
        for ranks in arguments.ranks[1:]:
            sweep.measure("ranks", greatest, ranks, 1)
    scaling_table.write_csv(arguments.name + ".csv", sweep.rows)
    sizes = by_size(sweep.rows)
    print_sizes(sizes)
    if not plot_sizes(sizes, arguments.name + "-sizes.svg"):
        print(f"{arguments.name}-sizes.svg is left out: no matplotlib here", file=sys.stderr)
    scaling_table.report(sweep.speedups(), arguments.name + "-speedup.svg")
    sweep.require_same_makespans()


if __name__ == "__main__":
    main()
