#!/usr/bin/env python3
"""Hold the product's numbers against check_placement.py of the specification: placements of `pardnn partition`
(preset fast) and random ones that keep groups together, for K = 2, 4, 8, both policies, both link models, on a
homogeneous machine and on two hosts of unequal devices, with memory that some placements fit and some do not.

Graphs of more than --large nodes get a few of these configurations unless --all is given. Needs numpy and h5py.
"""
import argparse
import contextlib
import importlib.util
import io
import itertools
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

BANDWIDTH, LATENCY = 25 * 10**9, 10_000


def load_checker(path):
    spec = importlib.util.spec_from_file_location("check_placement", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Checker:
    """check_placement.py on one graph, read once."""

    def __init__(self, path, graph):
        self.module = load_checker(path)
        self.path = str(graph)
        self.graph = self.module.read_graph(self.path)
        self.module.read_graph = lambda _: self.graph

    def judge(self, placement, arguments):
        """Its JSON for one placement file."""
        text, sys.argv = io.StringIO(), ["check_placement.py", self.path, str(placement), *arguments]
        with contextlib.redirect_stdout(text):
            try:
                self.module.main()
            except SystemExit as end:
                if end.code not in (0, 2):
                    raise RuntimeError(f"check_placement.py: {end.code}") from end
        return json.loads(text.getvalue())


def units(graph):
    """For each node the least node of its unit: colocation groups and alias chains joined."""
    parent = list(range(graph["V"]))

    def find(n):
        while parent[n] != n:
            parent[n] = parent[parent[n]]
            n = parent[n]
        return n

    def join(a, b):
        a, b = find(a), find(b)
        parent[max(a, b)] = min(a, b)

    first = {}
    for n in np.flatnonzero(graph["colocation"] >= 0).tolist():
        join(first.setdefault(int(graph["colocation"][n]), n), n)
    for n in np.flatnonzero(graph["alias"] >= 0).tolist():
        join(n, int(graph["alias"][n]))
    return np.array([find(n) for n in range(graph["V"])], np.int64)


def random_placement(graph, unit, devices, seed):
    """A device for every unit; pinned units go where they are pinned."""
    choice = np.random.default_rng(seed).integers(0, devices, graph["V"])
    device = choice[unit] if graph["V"] else choice
    pinned = np.flatnonzero(graph["fixed"] >= 0)
    wanted = dict(zip(unit[pinned].tolist(), graph["fixed"][pinned].tolist()))
    for n in np.flatnonzero(np.isin(unit, list(wanted))).tolist():
        device[n] = wanted[int(unit[n])]
    return device


def write_tsv(path, graph, device):
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        for name, d in zip(graph["names"], device.tolist()):
            out.write(f"{name}\t{d}\n")


def write_two_hosts(path, devices, memory):
    """K devices on two hosts, the second host's slower and smaller."""
    half = devices // 2
    json.dump({"name": f"two hosts, {devices} devices",
               "devices": [{"count": half, "host": 0, "memory": f"{memory}B", "speed": 1.0},
                           {"count": devices - half, "host": 1, "memory": f"{memory * 3 // 4}B", "speed": 0.73}],
               "links": {"same_host": {"latency": "3us", "bandwidth": "250GB/s"},
                         "cross_host": {"latency": "12us", "bandwidth": "23GB/s"}}}, open(path, "w"))


def configurations(large):
    """(K, machine, policy, links)"""
    if large:
        return [(4, "equal", "fifo", "free"), (4, "two hosts", "priority", "ports"), (8, "two hosts", "fifo", "ports")]
    return list(itertools.product((2, 4, 8), ("equal", "two hosts"), ("fifo", "priority"), ("free", "ports")))


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 2):
        raise RuntimeError(f"exit code {done.returncode}: {' '.join(map(str, command))}\n{done.stderr}")
    return done.returncode, json.loads(done.stdout)


def differences(code, ours, theirs):
    """What disagrees, as text."""
    pairs = {"makespan_ns": ours["makespan_ns"], "lower_bound_ns": ours["lower_bound_ns"], "feasible": ours["feasible"],
             "broken": ours["broken"], "cut_bytes": ours["cut_bytes"],
             "peak_bytes": [d["peak_bytes"] for d in ours["devices"]],
             "usable_bytes": [d["usable_bytes"] for d in ours["devices"]],
             "overflow_bytes": [d["overflow_bytes"] for d in ours["devices"]],
             "busy_ns": [d["busy_ns"] for d in ours["devices"]],
             "nodes": ours["graph"]["nodes"], "edges": ours["graph"]["edges"]}
    found = [f"{key}: ours {value}, checker {theirs[key]}" for key, value in pairs.items() if value != theirs[key]]
    if code != (0 if theirs["feasible"] else 2):
        found.append(f"exit code {code}, checker feasible {theirs['feasible']}")
    if ours["best_bound_ns"] < ours["lower_bound_ns"] or (ours["feasible"] and ours["best_bound_ns"] > ours["makespan_ns"]):
        found.append(f"best_bound_ns {ours['best_bound_ns']} is no bound")
    return found


class GraphCheck:
    """All configurations on one graph."""

    def __init__(self, options, graph, folder):
        self.options, self.graph, self.folder = options, graph, pathlib.Path(folder)
        self.checker = Checker(options.checker, graph)
        self.unit = units(self.checker.graph)
        self.large = self.checker.graph["V"] > options.large and not options.all
        self.memory_alone = max(64, self.peak_alone())  # no device without memory

    def peak_alone(self):
        """Peak of the whole graph on one device."""
        placement = self.folder / "alone.tsv"
        write_tsv(placement, self.checker.graph, np.zeros(self.checker.graph["V"], np.int64))
        return self.checker.judge(placement, ["--devices", "1"])["peak_bytes"][0]

    def machine(self, kind, devices, links):
        """(product's flags, checker's flags). Per device: a little more than the K-th part of what one device needs."""
        memory = self.memory_alone * 3 // (2 * devices) + 1
        if kind == "equal":
            return (["--devices", str(devices), "--memory", f"{memory}B", "--bandwidth", f"{BANDWIDTH}B/s", "--latency",
                     f"{LATENCY}ns", "--links", links],
                    ["--devices", str(devices), "--memory", str(memory), "--bandwidth", str(BANDWIDTH), "--latency",
                     str(LATENCY), "--links", links])
        path = self.folder / f"two-hosts-{devices}.json"
        write_two_hosts(path, devices, memory)
        return (["--machine", str(path), "--links", links],) * 2

    def check(self, devices, kind, policy, links):
        ours, theirs = self.machine(kind, devices, links)
        common = ["--policy", policy, "--progress", "none", "--json", "-"]
        placed, random = self.folder / "placed.h5", self.folder / "random.tsv"
        code, result = run([self.options.program, "partition", self.graph, *ours, "--preset", "fast", "--threads", "1",
                            "-o", placed, *common])
        yield "partition", differences(code, result, self.checker.judge(placed, [*theirs, "--policy", policy]))
        seed = devices * 8 + ("equal", "two hosts").index(kind) * 4 + ("fifo", "priority").index(policy) * 2 + (links == "ports")
        write_tsv(random, self.checker.graph, random_placement(self.checker.graph, self.unit, devices, seed))
        code, result = run([self.options.program, "evaluate", self.graph, random, *ours, *common])
        yield "evaluate", differences(code, result, self.checker.judge(random, [*theirs, "--policy", policy]))

    def check_all(self):
        """(checks, failures as text)"""
        checks, failures = 0, []
        for configuration in configurations(self.large):
            if self.checker.graph["fixed"].max(initial=-1) >= configuration[0]:
                continue
            for command, found in self.check(*configuration):
                checks += 1
                failures += [f"{self.graph.stem} {configuration} {command}: {line}" for line in found]
        return checks, failures


def check_graph(task):
    options, graph = task
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            checks, failures = GraphCheck(options, graph, folder).check_all()
        except RuntimeError as error:
            checks, failures = 0, [f"{graph.stem}: {error}"]
    return graph.stem, checks, failures, time.monotonic() - begin


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", type=pathlib.Path)
    parser.add_argument("--program", required=True)
    parser.add_argument("--shared", type=pathlib.Path, default=here.parent.parent / "shared")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--large", type=int, default=20000, help="more nodes than this get a few configurations")
    parser.add_argument("--all", action="store_true", help="every configuration on every graph")
    options = parser.parse_args()
    options.checker = options.shared / "tools" / "check_placement.py"
    graphs = options.graphs or sorted(options.shared.glob("graphs/*.h5"))
    if not graphs or not options.checker.exists():
        sys.exit(f"error: no graphs, or no {options.checker}")
    tasks = [(options, graph) for graph in sorted(graphs, key=lambda path: -path.stat().st_size)]
    checks, failures = 0, []
    with multiprocessing.Pool(options.processes) as pool:
        for name, count, found, seconds in pool.imap_unordered(check_graph, tasks):
            checks += count
            failures += found
            print(f"{'FAILED' if found else 'ok':6} {name}: {count} placements, {seconds:.1f} s", flush=True)
    for line in failures:
        print(line)
    print(f"{checks} placements on {len(graphs)} graphs checked, {len(failures)} disagreements")
    sys.exit(1 if failures or checks == 0 else 0)


if __name__ == "__main__":
    main()
