"""Captures a model at a batch size, and lets the partitioner say whether it fits on K devices."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import h5py

from .machines import CurveError, last_line

QUICK, THOROUGH = "fast", "default"  # presets


@dataclass(frozen=True)
class Point:
    """One judgement. Times in ns, sizes in bytes; ``samples``: of one step. ``needed``: the capacity with which the best placement found would fit."""

    devices: int
    batch: int
    samples: int
    preset: str
    fits: bool
    proven: bool
    makespan: int
    peak: int
    usable: int
    needed: int

    @property
    def samples_per_second(self) -> float:
        return self.samples / (self.makespan / 1e9) if self.makespan else 0.0


@dataclass
class Judge:
    """Keeps every capture and every judgement. ``captured(batch, path)`` writes the graph file; ``machine(devices)``: options of the program."""

    program: str
    folder: Path
    captured: Callable[[int, Path], None]
    machine: Callable[[int], list[str]]
    options: list[str]
    said: Callable[[str], None]
    samples: dict[int, int] = field(default_factory=dict)
    points: dict[tuple[int, int, str], Point] = field(default_factory=dict)

    def point(self, devices: int, batch: int, preset: str) -> Point:
        key = (devices, batch, preset)
        if key not in self.points:
            graph = self.graph(batch)
            self.points[key] = point = self._judged(graph, *key)
            fits = "fits" if point.fits else "does not fit (proven)" if point.proven else "does not fit"
            self.said(f"{devices} devices, batch {batch}, {preset}: {fits}, {point.samples_per_second:.2f} samples/s")
        return self.points[key]

    def graph(self, batch: int) -> Path:
        """The graph file of this batch size. Raises CurveError where the setting does not change the number of samples."""
        path = self.folder / f"batch{batch}.h5"
        if batch not in self.samples:
            self.captured(batch, path)
            with h5py.File(path, "r") as file:
                samples, nodes = int(file.attrs["samples_per_step"]), len(file["nodes/comp"])
            twin = next((other for other, known in self.samples.items() if known == samples), None)
            if twin is not None:
                raise CurveError(f"batch sizes {twin} and {batch} both give {samples} samples a step: does --batch-name name the batch size?")
            self.samples[batch] = samples
            self.said(f"captured batch {batch}: {nodes:,} nodes, {samples} samples a step")
        return path

    def best(self, devices: int, batch: int) -> Point | None:
        """The most thorough judgement there is; of two that fit, the faster step."""
        found = [self.points[key] for preset in (THOROUGH, QUICK) if (key := (devices, batch, preset)) in self.points]
        return min(found, key=lambda p: (not p.fits, p.makespan), default=None)

    def _judged(self, graph: Path, devices: int, batch: int, preset: str) -> Point:
        command = [self.program, "partition", str(graph), *self.machine(devices), "--preset", preset, "-q", "--json", "-", *self.options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 2):  # 2: nothing that was tried fits
            raise CurveError(last_line(done.stderr))
        result = json.loads(done.stdout)
        return Point(devices, batch, self.samples[batch], preset, bool(result["feasible"]), bool(result["cannot_fit"]), int(result["makespan_ns"]),
                     max(int(d["peak_bytes"]) for d in result["devices"]), min(int(d["usable_bytes"]) for d in result["devices"]),
                     int(result.get("capacity_needed_bytes") or 0))


def capture_with(model: str, settings: list[str], batch_name: str, more: list[str]) -> Callable[[int, Path], None]:
    """Captures by ``pardnn.capture_torch`` with the batch size set; its report is left out, its errors are not."""
    from ..capture_torch import main

    def captured(batch: int, path: Path) -> None:
        words = [model, "-o", str(path), *(f"--set={s}" for s in settings), f"--set={batch_name}={batch}", *more]
        report, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(report), contextlib.redirect_stderr(errors):
            code = main(words)
        if code:
            raise CurveError(f"batch {batch}: {last_line(errors.getvalue()).removeprefix('pardnn.capture_torch: ')}")

    return captured
