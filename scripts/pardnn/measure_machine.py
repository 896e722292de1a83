"""Measures the machine that a job runs on and writes its machine file: ``torchrun --nproc-per-node 8 -m pardnn.measure_machine -o machine.json``.

Ranks are those of torchrun, mpirun or srun, one per device, or processes on this host with ``--launch K``. Between all pairs, in both directions: the
latency from many small messages, the bandwidth from several sizes of large ones. Of each device: its memory and its speed in a matrix product.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .command_line import Parser

if TYPE_CHECKING:
    from .machine.fit import Link
    from .machine.measure import DeviceFacts, Effort
    from .runtime.ranks import Ranks

MODULE = "pardnn.measure_machine"
NOISY = 0.5  # relative distance of a size's median from the fitted line


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code: 0; 3 for what the user has to mend; 4 where a rank is lost."""
    given = sys.argv[1:] if arguments is None else arguments
    told = _parser().parse_args(given)
    if told.launch is not None:
        return _launched(given, told.launch)
    try:
        import torch  # noqa: F401
    except ImportError as error:
        print(f"{MODULE}: PyTorch is not installed ({error})", file=sys.stderr)
        return 3
    code = _rank(told)
    sys.stdout.flush()
    if code:
        sys.stderr.flush()
        os._exit(code)  # threads of a network that is gone are not waited for
    return code


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog=f"python -m {MODULE}", description="Measures links, memory and speed of a machine; writes its machine file.")
    parser.add_argument("-o", "--output", required=True, metavar="MACHINE.json", help="the machine file to write")
    parser.add_argument("--launch", type=int, metavar="K", help="start K ranks on this host; without it torchrun, mpirun or srun has to")
    parser.add_argument("--name", help="the machine's name (from its devices)")
    parser.add_argument("--backend", choices=("auto", "gloo", "nccl"), default="auto", help="nccl: a GPU per rank; gloo: CPUs; auto: nccl where all have a GPU")
    parser.add_argument("--largest", type=int, default=16, metavar="MIB", help="size of the largest messages in MiB (16)")
    parser.add_argument("--repeats", type=int, default=20, metavar="N", help="messages of each large size (20)")
    parser.add_argument("--small", type=int, default=200, metavar="N", help="small messages (200)")
    parser.add_argument("--matmul", type=int, default=0, metavar="N", help="rows of the matrices that are multiplied (512 on CPUs, 4096 on GPUs)")
    parser.add_argument("--alone", action="store_true", help="one pair of ranks after another; else pairs that share no rank at the same time")
    parser.add_argument("--links", choices=("auto", "hosts", "pairs"), default="auto",
                        help="hosts: one link inside and one between hosts; pairs: a link for each; auto: hosts where all are within --tolerance of it")
    parser.add_argument("--tolerance", type=float, default=0.25, metavar="X", help="what counts as equal: links for --links auto, devices of one model (0.25)")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS", help="a rank that waits longer for another gives up (120)")
    return parser


def _launched(given: list[str], count: int) -> int:
    if count < 1:
        print(f"{MODULE}: --launch {count}: expected a number of processes", file=sys.stderr)
        return 3
    from .run import _without_launch
    from .runtime.launch import launch

    return launch(_without_launch(given), count, MODULE)


def _rank(told: argparse.Namespace) -> int:
    """This process's rank; the exit code. Errors that all ranks share are printed by rank 0, others by the rank that has them."""
    from datetime import timedelta

    from .machine.job import JobError, torchrun_words
    from .machine.measure import BACKENDS
    from .runtime.errors import RankLost, RunError
    from .runtime.ranks import Ranks, agree, leave

    ranks = None
    try:
        os.environ.update(torchrun_words(os.environ))
        ranks = Ranks.from_environment()
        problem, effort = None, None
        try:
            effort = _effort(told)
            _check_output(told.output, ranks)
            backend = _backend(told.backend)
        except (RunError, OSError) as error:
            problem, backend = " ".join(str(error).split()), "gloo"
        ranks.join(BACKENDS[backend][0], timedelta(seconds=told.timeout))
        agree(ranks, problem, {"the backend (--backend says which)": backend, "what is measured": str(effort)})
        assert effort is not None
        _measure(told, ranks, effort, backend)
    except (RunError, JobError) as error:
        if ranks is None or ranks.rank == 0:
            print(f"{MODULE}: {error}", file=sys.stderr, flush=True)
        return 3
    except (RankLost, OSError) as error:
        print(f"{MODULE}: rank {ranks.rank if ranks else 0}: {error}", file=sys.stderr, flush=True)
        return 4
    leave()
    return 0


def _effort(told: argparse.Namespace) -> Effort:
    from .machine.measure import Effort
    from .runtime.errors import RunError

    for option, least in (("largest", 1), ("repeats", 1), ("small", 1), ("matmul", 0)):
        if getattr(told, option) < least:
            raise RunError(f"--{option} {getattr(told, option)}: expected at least {least}")
    if not told.tolerance >= 0:
        raise RunError(f"--tolerance {told.tolerance}: expected a number from 0")
    largest = told.largest << 20
    sizes = sorted({min(largest, (1 << 16) << 2 * i) for i in range(20)})
    return Effort(tuple(sizes), told.repeats, told.small, told.matmul, told.alone)


def _check_output(output: str, ranks: Ranks) -> None:
    """Before anything is measured; only rank 0 writes."""
    from .runtime.errors import RunError

    if Path(output).suffix != ".json":
        raise RunError(f"{output}: expected a machine file that ends in .json")
    if ranks.rank == 0 and not Path(output).absolute().parent.is_dir():
        raise RunError(f"{output}: its folder does not exist")


def _backend(told: str) -> str:
    import torch

    return ("nccl" if torch.cuda.is_available() else "gloo") if told == "auto" else told


def _measure(told: argparse.Namespace, ranks: Ranks, effort: Effort, backend: str) -> None:
    from .machine.machine_file import link_classes, machine_devices, machine_document, machine_text
    from .machine.measure import BACKENDS, measure
    from .machine.table import device_lines, link_lines
    from .atomic_file import write_text

    device = ranks.device(BACKENDS[backend][1])
    shown = ranks.rank == 0 and sys.stderr.isatty()
    found = measure(ranks, device, effort, lambda text: print(f"\r{text}", end="", file=sys.stderr, flush=True) if shown else None)
    if shown:
        print(file=sys.stderr)
    if ranks.rank:
        return
    devices = machine_devices(found.devices, told.tolerance)
    apart = link_classes(devices, found.links).apart
    by_host = told.links == "hosts" or (told.links == "auto" and apart <= told.tolerance)
    document = machine_document(told.name or _name(found.devices), _comment(found.devices, effort, backend), devices, found.links, by_host)
    write_text(told.output, machine_text(document))
    print(f"machine     {document['name']}; messages by {backend}, {'one pair at a time' if effort.alone else 'pairs side by side'}")
    for line in [*device_lines(found.devices, devices), *link_lines(devices, found.links)]:
        print(line)
    for note in _notes(found.devices):
        print(f"memory      {note}")
    if found.links:
        form = "inside hosts and between hosts" if by_host else "of each pair"
        print(f"links       {form} (--links {told.links}); a pair is up to {100 * apart:.0f} % from the median of its kind, "
              f"tolerance {100 * told.tolerance:g} %")
    print(f"written     {told.output}")
    for warning in _doubts(found.links, effort.sizes[-1]):
        print(f"{MODULE}: warning: {warning}", file=sys.stderr)


def _doubts(links: dict[tuple[int, int], Link], largest: int) -> Iterator[str]:
    """What makes the numbers of links doubtful, counted."""
    far = [k.error for k in links.values() if k.error > NOISY]
    if far:
        yield (f"{len(far)} of {len(links)} links are no line of latency and bandwidth (up to {100 * max(far):.0f} % off): is the machine busy? "
               "Measure again, with more --repeats or with --alone")
    short = sum(1 for k in links.values() if largest / k.bandwidth < k.latency)
    if short:
        yield (f"{short} of {len(links)} links carry {largest:,} B in less time than their latency, so that their bandwidth is a guess: "
               "measure with a greater --largest")


def _name(facts: list[DeviceFacts]) -> str:
    hosts = len({(f.host, f.boot) for f in facts})
    models = sorted({f.model for f in facts})
    return f"{len(facts)} x {' and '.join(models)} on {hosts} host{'s' if hosts > 1 else ''}, measured"


def _notes(facts: list[DeviceFacts]) -> list[str]:
    """Where the bytes are from, a line for each host that shares its memory."""
    notes = []
    for host, boot in dict.fromkeys((f.host, f.boot) for f in facts if f.shared):
        there = [f for f in facts if (f.host, f.boot) == (host, boot)]
        notes.append(f"{host}: {there[0].memory:,} B of the {there[0].source}, in {len(there)} equal parts")
    return notes


def _comment(facts: list[DeviceFacts], effort: Effort, backend: str) -> str:
    memory = "; ".join(_notes(facts)) or "the GPUs' own"
    sizes = f"8 B (x {effort.small}) and {effort.sizes[0]} to {effort.sizes[-1]} B (x {effort.repeats})"
    return f"Measured by {MODULE}: messages of {sizes} by {backend}; speed: float32 product of {facts[0].rows} rows; memory: {memory}."


if __name__ == "__main__":
    sys.exit(main())
