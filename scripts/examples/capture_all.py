"""Captures every example at full size, compares it with the counts by hand, places it, and writes a table: ``python scripts/examples/capture_all.py``.

Each capture is a process of its own, so that its time and its peak of memory are its own. Needs the built program (environment PARDNN, else
build/src/cli/pardnn). Exit code 1 where a count is off by more than 1 % (of products: at all), a capture takes 4 GiB or more, or a placement isn't feasible.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

import counts  # noqa: E402
from graph_counts import GraphCounts, graph_counts  # noqa: E402


@dataclass(frozen=True)
class Row:
    """One capture and one placement. ``sizes``: what differs from the example's defaults. ``memory``: of each of the ``devices``."""

    example: str
    devices: int
    memory: str
    sizes: dict[str, Any] = field(default_factory=dict)
    micro_batches: int = 1
    costs: str = "roofline:V100"
    preset: str = "default"

    def title(self) -> str:
        sizes = [f"{name}={value}" for name, value in self.sizes.items()]
        return " ".join([self.example, *sizes, *([f"({self.micro_batches} micro-batches)"] if self.micro_batches > 1 else [])])

    def capture_command(self, output: Path) -> list[str]:
        sets = [a for name, value in self.sizes.items() for a in ("--set", f"{name}={value}")]
        return [sys.executable, "-m", "pardnn.capture_torch", f"{HERE / self.example}.py:step", *sets, "--micro-batches", str(self.micro_batches),
                "--costs", self.costs, "-o", str(output)]

    def partition_command(self, program: str, graph: Path) -> list[str]:
        return [program, "partition", str(graph), "--devices", str(self.devices), "--memory", self.memory, "--bandwidth", "150GB/s", "--latency", "5us",
                "--preset", self.preset, "--json", "-", "-o", str(graph.with_suffix(".tsv"))]


ROWS = (
    Row("word_rnn", 4, "4GiB"),
    Row("char_crn", 4, "4GiB"),
    Row("char_crn", 8, "16GiB", sizes={"layers": 32}, preset="fast"),
    Row("wide_resnet", 4, "32GiB"),
    Row("transformer", 4, "16GiB"),
    Row("e3d_lstm", 4, "16GiB"),
    Row("gpt2", 16, "32GiB"),
    Row("gpt2", 16, "32GiB", sizes={"batch": 16}, micro_batches=16, preset="fast"),
    Row("llama", 16, "80GiB", costs="roofline:H100"),
    Row("moe", 8, "16GiB"),
    Row("dlrm", 4, "32GiB"),
)


class Run(NamedTuple):
    """What a process printed, how long it took, and the most memory that it held."""

    output: str
    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Result:
    """A row's figures: of the graph, by hand, of the capture's process, and of the placement (the program's JSON)."""

    row: Row
    graph: GraphCounts
    hand: counts.Counts
    capture: Run
    placement: dict[str, Any]
    partition_seconds: float

    def ratios(self) -> tuple[float, float]:
        """Residual bytes and FLOPs, the graph's over those by hand."""
        return self.graph.residual_bytes / self.hand.residual_bytes, self.graph.flops / self.hand.flops

    def good(self) -> bool:
        products = self.graph.products == self.hand.products * self.row.micro_batches
        return products and all(abs(r - 1) <= 0.01 for r in self.ratios()) and self.capture.peak_bytes < 4 * 2**30 and bool(self.placement["feasible"])


def run(command: Sequence[str], accepted: Sequence[int] = (0,)) -> Run:
    """Runs a command; RuntimeError with what it said where its exit code is not ``accepted``."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])}
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=output, stderr=errors, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - start
        for stream in (output, errors):
            stream.seek(0)
        if process.returncode not in accepted:
            raise RuntimeError(f"{' '.join(command)}: exit code {process.returncode}: {errors.read().strip()}")
        return Run(output.read(), seconds, usage.ru_maxrss * 1024)


def measure(row: Row, program: str, folder: Path) -> Result:
    """Captures, checks and places. An infeasible placement (exit code 2) is a result."""
    graph = folder / f"{row.title().replace(' ', '-').replace('(', '').replace(')', '')}.h5"
    capture = run(row.capture_command(graph))
    run([program, "validate", str(graph)])
    placed = run(row.partition_command(program, graph), accepted=(0, 2))
    hand = counts.FAMILIES[row.example](**counts.sizes_of(importlib.import_module(row.example).step, **row.sizes))
    return Result(row, graph_counts(graph), hand, capture, json.loads(placed.output), placed.seconds)


HEADER = ("| example | nodes | edges | products | parameters | residual GB | by hand | ratio | TFLOP | by hand | ratio | capture s | peak GiB "
          "| devices | makespan s | / bound | feasible | partition s |\n|---|" + "--:|" * 12 + "---|" + "--:|" * 2 + "---|--:|")


def line(result: Result) -> str:
    """One row of the table."""
    residual, flops = result.ratios()
    placement = result.placement
    cells = [result.row.title(), f"{result.graph.nodes:,}", f"{result.graph.edges:,}", f"{result.graph.products:,}", f"{result.hand.parameters:,}",
             f"{result.graph.residual_bytes / 1e9:.4f}", f"{result.hand.residual_bytes / 1e9:.4f}", f"{residual:.6f}",
             f"{result.graph.flops / 1e12:.4f}", f"{result.hand.flops / 1e12:.4f}", f"{flops:.6f}", f"{result.capture.seconds:.0f}",
             f"{result.capture.peak_bytes / 2**30:.2f}", f"{result.row.devices} x {result.row.memory}", f"{placement['makespan_ns'] / 1e9:.3f}",
             f"{placement['ratio']:.3f}", "yes" if placement["feasible"] else "no", f"{result.partition_seconds:.0f}"]
    return "| " + " | ".join(cells) + " |"


def heading() -> str:
    """Commit, machine and versions of the figures."""
    import torch

    commit = run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]).output.strip()
    return (f"Commit {commit}; PyTorch {torch.__version__}, Python {platform.python_version()}, {os.cpu_count()} CPUs shared with other work. "
            "Bandwidth 150 GB/s, latency 5 us, policy fifo, headroom 10 %; costs: roofline of a V100 (fp32), of an H100 for llama (bf16); "
            "preset default, or fast above 40,000 nodes.")


def write(path: Path, text: str) -> None:
    """The file is the old one or the new one, whole."""
    scratch = path.with_name(f".{path.name}.tmp")
    scratch.write_text(text)
    os.replace(scratch, path)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Captures, checks and places all examples at full size.")
    parser.add_argument("--only", action="append", metavar="EXAMPLE", choices=sorted({row.example for row in ROWS}), help="this one; may be repeated")
    parser.add_argument("--folder", type=Path, help="where graphs and placements stay (default: nowhere)")
    parser.add_argument("-o", "--output", type=Path, help="the table as Markdown (default: standard output alone)")
    options = parser.parse_args(arguments)
    program = os.environ.get("PARDNN") or str(ROOT / "build/src/cli/pardnn")
    if not os.access(program, os.X_OK):
        print(f"capture_all: {program}: no program; build it, or set PARDNN", file=sys.stderr)
        return 3
    lines, good = [heading(), "", HEADER], True
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for row in ROWS:
            if not options.only or row.example in options.only:
                result = measure(row, program, folder)
                good &= result.good()
                lines.append(line(result))
                print(lines[-1], flush=True)
    if options.output:
        write(options.output, "\n".join(lines) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
