"""What the ranks of a measurement are told, and what they say: files in a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ..runtime.schedule import Schedule
from ..atomic_file import write_text
from .draw import Candidate

JOB, CANDIDATES, RESULTS = "job.json", "candidates.npz", "results.json"
_COLUMNS = ("device", "order", "start", "finish", "delivered")


@dataclass(frozen=True)
class Job:
    """``graph``: its file; ``machine``: as placement files have it. Of each placement ``rounds`` times ``steps`` steps after ``warm_up`` others.

    A step in which other work had more than the share ``others`` of the cores is disturbed: it is repeated, for ``patience`` seconds at most.
    """

    graph: str
    machine: str
    devices: int
    rounds: int
    steps: int
    warm_up: int
    threads: int = 1
    seed: int = 0
    timeout: float = 600.0
    profile: bool = False
    others: float = 1.0
    patience: float = 0.0


@dataclass
class Measured:
    """Of one placement. ``steps``: seconds of each, from the first rank's start to the last one's end, and the share of other work.

    ``core_steps``: seconds of each in the cores' time that the ranks used, see :mod:`~pardnn.fidelity_run.core_time`.
    ``peaks``: live bytes of each rank at the worst moment. ``cpu``: seconds of a core that each rank used in all steps, its threads included.
    ``sent``: values and ``sent_bytes`` that pass between ranks in a step. ``losses``: numbers that the first step returned.
    """

    steps: list[tuple[float, float]]
    core_steps: list[float]
    peaks: list[int]
    cpu: list[float]
    sent: int
    sent_bytes: int
    losses: list[float]


def write_job(folder: Path, job: Job, candidates: Sequence[Candidate]) -> None:
    arrays = {f"{column}{i}": getattr(c if column == "device" else c.schedule, column) for i, c in enumerate(candidates) for column in _COLUMNS}
    np.savez(folder / CANDIDATES, **arrays)
    write_text(folder / JOB, json.dumps({**asdict(job), "candidates": [[c.name, c.kind] for c in candidates]}))


def read_job(folder: Path) -> tuple[Job, list[Candidate]]:
    content = json.loads((folder / JOB).read_text(encoding="utf-8"))
    named = content.pop("candidates")
    with np.load(folder / CANDIDATES) as arrays:
        found = [Candidate(name, kind, arrays[f"device{i}"], Schedule(*(arrays[f"{c}{i}"] for c in _COLUMNS[1:]))) for i, (name, kind) in enumerate(named)]
    return Job(**content), found


def write_results(folder: Path, measured: Sequence[Measured]) -> None:
    write_text(folder / RESULTS, json.dumps([asdict(m) for m in measured]))


def read_results(folder: Path) -> list[Measured]:
    entries = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
    return [Measured(**{**entry, "steps": [(seconds, share) for seconds, share in entry["steps"]]}) for entry in entries]
