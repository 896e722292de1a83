"""One graph: placements drawn, emulated, run, and put side by side."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..curve.machines import CurveError, first_devices, machine_as_read
from ..graph import Graph, Int64
from ..graph_file import read_extra, read_graph, write_graph
from ..runtime.launch import launch
from ..runtime.links import Machine
from ..runtime.schedule import emulate
from ..torch_step.program import DATASET
from .draw import Candidate, draw
from .errors import FidelityError
from .job import Job, Measured, read_results, write_job
from .messages import read_cost, with_copies
from .others import undisturbed
from .profile import read_profile
from .program import judged, searched
from .table import Row, Table

_RANK = "pardnn.fidelity_run.rank"
DRIFT = 1e-4  # relative difference of losses beyond which placements do not compute the same


@dataclass(frozen=True)
class Settings:
    """What a comparison is told. ``rounds`` times ``steps`` steps of each placement count, after ``warm_up`` others each time.

    ``others``: share of the cores' time for other work beyond which a step is repeated, ``patience``: seconds for that.
    """

    program: str
    devices: int
    placements: int
    seed: int
    rounds: int
    steps: int
    warm_up: int
    profile: bool
    others: float
    patience: float
    timeout: float


def machine_text(program: str, file: str, devices: int, folder: Path) -> str:
    """JSON of the first ``devices`` devices of a machine file, as placement files have it."""
    try:
        whole = machine_as_read(program, file, folder)
    except CurveError as error:
        raise FidelityError(str(error)) from error
    if len(whole["devices"]) < devices:
        raise FidelityError(f"{file}: has {len(whole['devices'])} devices, --devices says {devices}")
    return json.dumps(first_devices(whole, devices))


def compare(path: Path, machine: str, settings: Settings, folder: Path, said: Callable[[str], None]) -> Table:
    """The table of the graph file ``path`` on ``machine`` (JSON). ``folder``: for files on the way."""
    graph = read_graph(path)
    raw = read_extra(path, DATASET)
    if raw is None:
        raise FidelityError(f"{path}: holds no program; make the file with python -m pardnn.capture_torch")
    links = Machine.parse(machine)
    machine_file = folder / "machine.json"
    machine_file.write_text(machine, encoding="utf-8")
    captured = graph.comp
    if settings.profile:
        graph = dataclasses.replace(graph, comp=_profiled(path, graph, machine, settings, folder, said))
        path = folder / "profiled.h5"
        write_graph(path, graph, {DATASET: raw})
    candidates = draw(graph, links, searched(settings.program, path, graph, machine_file, folder), settings.placements, settings.seed)
    told = [judged(settings.program, path, graph, machine_file, c, folder) for c in candidates]
    said(f"{graph.name}: {len(candidates)} placements, emulated {min(t.makespan for t in told) / 1e6:.1f} to {max(t.makespan for t in told) / 1e6:.1f} ms")
    job = Job(str(path), machine, settings.devices, settings.rounds, settings.steps, settings.warm_up, timeout=settings.timeout, others=settings.others,
              patience=settings.patience)
    found = _measure(job, candidates, folder)
    _check_losses(path, candidates, found)
    cost = read_cost(folder)
    rows = [Row(c.name, c.kind, t.makespan / 1e6, with_copies(graph, c, links, cost) / 1e6, [1e3 * s for s in seconds], [1e3 * s for s in m.core_steps],
                t.peaks, m.peaks, [1e3 * s / len(m.steps) for s in m.cpu], m.sent, m.sent_bytes, disturbed=disturbed)
            for c, t, m in zip(candidates, told, found)
            for seconds, disturbed in [undisturbed(m.steps, settings.others, settings.rounds * settings.steps)]]
    if settings.profile:
        plain = dataclasses.replace(graph, comp=captured)
        for row, c in zip(rows, candidates):
            row.as_captured = emulate(plain, c.device, links).makespan / 1e6
    return Table(graph.name, graph.num_nodes, settings.devices, captured_work=int(captured.sum()) / 1e6, work=int(graph.comp.sum()) / 1e6, rows=rows,
                 message=cost)


def _profiled(path: Path, graph: Graph, machine: str, settings: Settings, folder: Path, said: Callable[[str], None]) -> Int64:
    """ns of each node in a step that one rank runs alone."""
    device = np.maximum(graph.fixed, 0)
    if device.any():
        raise FidelityError(f"{path}: --profile: node '{graph.names[int(np.argmax(device))]}' is pinned, so that no rank can run the step alone")
    alone = Candidate("alone", "baseline", device, emulate(graph, device, Machine.parse(machine)))
    _measure(Job(str(path), machine, settings.devices, 1, max(5, settings.steps), settings.warm_up, timeout=settings.timeout, profile=True), [alone], folder)
    comp = read_profile(folder)
    said(f"{graph.name}: nodes take {comp.sum() / 1e6:.1f} ms in a step of one rank; {graph.comp.sum() / 1e6:.1f} ms in the file")
    return comp


def _measure(job: Job, candidates: Sequence[Candidate], folder: Path) -> list[Measured]:
    write_job(folder, job, candidates)
    code = launch([str(folder)], job.devices, _RANK)
    if code:
        raise FidelityError(f"{job.graph}: the measurement ended with exit code {code}")
    return read_results(folder)


def _check_losses(path: Path, candidates: Sequence[Candidate], found: Sequence[Measured]) -> None:
    """All placements compute the same step from the same state."""
    expected = np.array(found[0].losses)
    for candidate, measured in zip(candidates, found):
        if not np.allclose(measured.losses, expected, rtol=DRIFT, atol=0.0):
            raise FidelityError(f"{path}: '{candidate.name}' returns {measured.losses}, '{candidates[0].name}' {found[0].losses}: they are to be the same step")
