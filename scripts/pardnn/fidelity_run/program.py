"""What the partitioner says: states of its search, and its judgement of placements."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..graph import Graph
from ..runtime.placement import read_placement
from .draw import Candidate
from .errors import FidelityError

# Options of the searches whose results are among the placements.
SEARCHES: tuple[tuple[str, list[str]], ...] = (
    ("fast", ["--preset", "fast"]), ("default", []), ("default, seed 2", ["--seed", "2"]), ("default, priority", ["--policy", "priority"]),
    ("fast, priority", ["--preset", "fast", "--policy", "priority"]))


@dataclass(frozen=True)
class Judged:
    """Of one placement, by ``pardnn evaluate``: ns, and bytes of each device."""

    makespan: int
    peaks: list[int]


def searched(program: str, path: Path, graph: Graph, machine: Path, folder: Path) -> list[Candidate]:
    """A candidate for each of ``SEARCHES``, on the machine of the file ``machine``; their files are kept in ``folder``."""
    found = []
    for number, (name, options) in enumerate(SEARCHES):
        target = folder / f"search{number}.h5"
        _run([program, "partition", str(path), "--machine", str(machine), "--threads", "1", "-q", *options, "-o", str(target)])
        placement = read_placement(target, graph)
        found.append(Candidate(name, "search", placement.device, placement.schedule, target))
    return found


def judged(program: str, path: Path, graph: Graph, machine: Path, candidate: Candidate, folder: Path) -> Judged:
    """The partitioner's emulated run of a candidate. Raises FidelityError where it isn't the one whose order the runtime follows."""
    if candidate.file is not None:
        words = [str(candidate.file)]
    else:
        target = folder / "judged.tsv"
        target.write_text("".join(f"{name}\t{device}\n" for name, device in zip(graph.names, candidate.device.tolist())), encoding="utf-8")
        words = [str(target), "--machine", str(machine)]
    told = json.loads(_run([program, "evaluate", str(path), *words, "--threads", "1", "-q", "--json", "-"]))
    if told["makespan_ns"] != candidate.schedule.makespan:
        raise FidelityError(f"{path}: '{candidate.name}' is emulated with {candidate.schedule.makespan} ns here, with {told['makespan_ns']} by {program}")
    return Judged(int(told["makespan_ns"]), [int(d["peak_bytes"]) for d in told["devices"]])


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 2):  # 2: it doesn't fit, which the table will show
        raise FidelityError(f"{' '.join(command[:2])}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    return done.stdout
