"""Emulated against measured: ``python -m pardnn.fidelity GRAPH.h5 --devices 2 --placements 20 -o fidelity.csv --md fidelity.md``.

Placements are drawn by a seeded rule; each is emulated and run by the runtime on processes of this host, a thread each. Shows how well the emulated
run puts placements in order (Spearman), and emulated peaks of memory beside the bytes that the processes held.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from .command_line import Parser
from .program_path import program_path
from .atomic_file import write_text

if TYPE_CHECKING:
    from .fidelity_run.run import Settings

MODULE = "pardnn.fidelity"


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code: 0, or 3 for what the user has to mend."""
    told = _parser().parse_args(arguments)
    try:
        import torch  # noqa: F401
    except ImportError as error:
        print(f"{MODULE}: PyTorch is not installed ({error})", file=sys.stderr)
        return 3
    try:
        _run(told)
    except (ValueError, OSError) as error:
        print(f"{MODULE}: {' '.join(str(error).split())}", file=sys.stderr)
        return 3
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog=f"python -m {MODULE}", description="Holds emulated step times and memory against measured ones.")
    parser.add_argument("graphs", nargs="+", metavar="GRAPH.h5", help="graph files of python -m pardnn.capture_torch, with costs measured on this CPU")
    parser.add_argument("-o", "--output", required=True, metavar="TABLE.csv", help="a line per placement")
    parser.add_argument("--md", metavar="REPORT.md", help="the same as Markdown, with the method")
    parser.add_argument("--devices", type=int, default=2, metavar="K", help="processes, a thread each (2)")
    parser.add_argument("--placements", type=int, default=20, metavar="N", help="of each graph (20)")
    parser.add_argument("--seed", type=int, default=1, help="of the drawing (1)")
    parser.add_argument("--machine", metavar="FILE", help="machine file; without it one is measured by pardnn.measure_machine")
    parser.add_argument("--profile", action="store_true", help="times of nodes from steps of one process instead of those in the file")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="visits of each placement, all others in between (3)")
    parser.add_argument("--steps", type=int, default=3, metavar="N", help="steps of a visit that count (3)")
    parser.add_argument("--warm-up", type=int, default=1, metavar="N", help="steps before them (1)")
    parser.add_argument("--others", type=float, default=0.1, metavar="X", help="other work on the cores, as a share, beyond which a step is repeated (0.1)")
    parser.add_argument("--patience", type=float, default=0.0, metavar="SECONDS", help="time for repeating disturbed steps of a graph (0)")
    parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS", help="a process that waits longer for another gives up (600)")
    return parser


def _run(told: argparse.Namespace) -> None:
    from .fidelity_run.run import Settings, compare, machine_text
    from .fidelity_run.table import csv_text, markdown, summary_lines

    _check(told)
    settings = Settings(program_path(), told.devices, told.placements, told.seed, told.rounds, told.steps, told.warm_up, told.profile, told.others,
                        told.patience, told.timeout)
    tables = []
    with tempfile.TemporaryDirectory(prefix="pardnn-fidelity-") as name:
        folder = Path(name)
        machine = machine_text(settings.program, told.machine or str(_measured_machine(folder, told.devices)), told.devices, folder)
        for path in told.graphs:
            tables.append(compare(Path(path), machine, settings, folder, lambda text: print(text, flush=True)))
            for line in summary_lines(tables[-1]):
                print(f"  {line}", flush=True)
            write_text(told.output, csv_text(tables))  # after each graph, so that what is measured is kept
            if told.md:
                write_text(told.md, markdown(tables, _method(settings, machine), _limits(settings)))
    print("written     " + ", ".join(filter(None, (told.output, told.md))))


def _check(told: argparse.Namespace) -> None:
    """Before anything takes time."""
    for option, least in (("devices", 2), ("placements", 2), ("seed", 0), ("rounds", 1), ("steps", 1), ("warm_up", 0)):
        if getattr(told, option) < least:
            raise ValueError(f"--{option.replace('_', '-')} {getattr(told, option)}: expected at least {least}")
    for path in filter(None, (told.output, told.md)):
        if not Path(path).absolute().parent.is_dir():
            raise ValueError(f"{path}: its folder does not exist")


def _measured_machine(folder: Path, devices: int) -> Path:
    from .runtime.launch import launch

    target = folder / "measured.json"
    code = launch(["-o", str(target)], devices, "pardnn.measure_machine")
    if code:
        raise ValueError(f"pardnn.measure_machine ended with exit code {code}")
    return target


def _method(settings: Settings, machine: str) -> list[str]:
    from .runtime.links import Machine

    links = Machine.parse(machine)
    costs = ("are those of steps that one process ran alone in the runtime (a node lasts from its start to the next one's, the median of the steps)"
             if settings.profile else "are those of the graph file")
    return [
        f"Made by `python -m {MODULE}` with seed {settings.seed} on {_host()}; {settings.devices} processes of one thread each, messages by gloo.",
        "Placements: single device, round robin, blocks, HEFT (without insertion) and ETF; states of the search (presets, seeds, policies); by turns random "
        "ones, in blocks of several sizes or group by group, and mixtures, in which a share of the groups of the best of those is drawn again. "
        "They respect colocation and views, and all differ.",
        f"Emulated: by `pardnn evaluate` on the machine as measured, or as --machine says: links `free`, latency {links.latency[0, 1] / 1e3:.1f} us, bandwidth "
        f"{links.bandwidth[0, 1] / 1e9:.2f} GB/s, policy fifo (states of a search by priority: theirs). Times of nodes {costs}.",
        "With copies: the same order of nodes, but messages take time of the cores of sender and receiver, as measured with messages of the runtime apart from "
        "these steps, and the link has what is left of a message's time.",
        f"Measured: the runtime runs each placement in the order of its emulated run, all of them in one start of the processes: {settings.rounds} rounds over "
        f"all placements, each time from the same state with {settings.warm_up} steps to warm up and {settings.steps} that count. A step lasts from the "
        "first process's start to the last one's end; the median counts. Steps in which other work had "
        f"more than {settings.others:.0%} of the cores are left out where there are enough others. The losses of all placements are the same. "
        "In the cores' time: each process notes the cores' time that it used when it hands over a message and when it waits for one; replayed, a wait ends "
        "when the message can be there in the same reckoning. So other work on the host, which adds to the time by the wall, is left out. "
        "Live bytes: each storage that a process holds, once.",
    ]


def _limits(settings: Settings) -> list[str]:
    return [
        f"This host has {os.cpu_count()} cores for {settings.devices} processes, their threads that send and receive, and whatever else runs; "
        "messages are copied by these same cores, which the emulated run does not know (on GPUs, copies are made beside the computation).",
        "Links `free` have no contention: two messages at once are as fast as one.",
        "Caches and memory bandwidth are shared by the processes; times of nodes are those of one process alone.",
        "In the cores' time, the threads of a process that send and receive share a core with its computation, and how they are scheduled is left out; "
        "caches that other work on the host spoils do count.",
        "The runtime keeps the order of the emulated run; a scheduler that takes what is ready would differ.",
    ]


def _host() -> str:
    from .costs.measured import _processor

    return f"{_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"


if __name__ == "__main__":
    sys.exit(main())
