"""The comparison as rows, as CSV and as Markdown."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

from .messages import MessageCost
from .spearman import spearman

ASKED = 0.9  # rank correlation
LEAST, MOST = 0.95, 1.10  # emulated by live bytes


@dataclass
class Row:
    """One placement.

    ``emulated``, ``measured`` (each step by the wall), ``core`` (in the cores' time): ms.
    ``emulated_peaks``, ``live_peaks``: bytes of each device; ``sent`` values and bytes a step.

    ``with_copies``: emulated with the cores' own work on messages, ms. ``cpu``: ms of a core that each process used, its threads
    included. ``as_captured``: emulated with the costs of the graph file where others were used, ms.
    ``disturbed``: steps among ``measured`` in which other work had too much of the cores.
    """

    name: str
    kind: str
    emulated: float
    with_copies: float
    measured: list[float]
    core: list[float]
    emulated_peaks: list[int]
    live_peaks: list[int]
    cpu: list[float]
    sent: int
    sent_bytes: int
    as_captured: float | None = None
    disturbed: int = 0

    @property
    def median(self) -> float:
        """ms"""
        return _median(self.measured)

    @property
    def core_median(self) -> float:
        """ms"""
        return _median(self.core)

    @property
    def least(self) -> float:
        """ms"""
        return min(self.measured)

    @property
    def memory_ratios(self) -> list[float]:
        """Emulated by live peak of each device that holds something."""
        held = [(e, live) for e, live in zip(self.emulated_peaks, self.live_peaks) if e or live]
        return [e / live if live else math.inf for e, live in held]


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


@dataclass
class Table:
    """A graph's rows. ``captured_work``: ms of all nodes by the graph file, ``work``: by the costs that were emulated.

    ``message``: what messages cost the cores.
    """

    graph: str
    nodes: int
    devices: int
    captured_work: float
    work: float
    rows: list[Row]
    message: MessageCost

    def correlation(self, of: str = "median", emulated: str = "emulated") -> float:
        """Spearman between a column of emulated and one of measured times."""
        return spearman([getattr(r, emulated) for r in self.rows], [getattr(r, of) for r in self.rows])

    @property
    def memory(self) -> tuple[float, float]:
        """The least and the greatest ratio of emulated to live peaks."""
        ratios = [ratio for row in self.rows for ratio in row.memory_ratios]
        return min(ratios), max(ratios)

    def apart(self, emulated: str = "emulated") -> float:
        """Median of the relative differences of a column of emulated from measured times."""
        apart = sorted(abs(getattr(r, emulated) / r.median - 1) for r in self.rows)
        return apart[len(apart) // 2]


def csv_text(tables: Sequence[Table]) -> str:
    """A line per placement; times in ms, sizes in bytes."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    devices = max(t.devices for t in tables)
    writer.writerow(["graph", "placement", "kind", "emulated_ms", "with_copies_ms", "as_captured_ms", "measured_ms", "measured_least_ms", "core_ms",
                     "steps", "disturbed_steps", "values_sent", "bytes_sent",
                     *(f"{what}_{d}" for d in range(devices) for what in ("cpu_ms", "emulated_peak", "live_peak"))])
    for table in tables:
        for r in table.rows:
            of_devices = [value for cpu, *pair in zip(r.cpu, r.emulated_peaks, r.live_peaks) for value in (f"{cpu:.3f}", *pair)]
            captured = "" if r.as_captured is None else f"{r.as_captured:.3f}"
            writer.writerow([table.graph, r.name, r.kind, f"{r.emulated:.3f}", f"{r.with_copies:.3f}", captured, f"{r.median:.3f}", f"{r.least:.3f}",
                             f"{r.core_median:.3f}", len(r.measured), r.disturbed, r.sent, r.sent_bytes, *of_devices])
    return out.getvalue()


def summary_lines(table: Table) -> list[str]:
    """What a graph shows, against what is asked."""
    least, most = table.memory
    disturbed, steps = sum(r.disturbed for r in table.rows), sum(len(r.measured) for r in table.rows)
    lines = [f"rank correlation (Spearman) of emulated and measured step time: {table.correlation():.3f} (least step: {table.correlation('least'):.3f}); "
             f"asked: {ASKED}",
             f"of emulated and measured in the cores' time that the processes used: {table.correlation('core_median'):.3f}"]
    m = table.message
    lines.append(f"with the cores' own work on messages: {table.correlation(emulated='with_copies'):.3f}, in the cores' time "
                 f"{table.correlation('core_median', 'with_copies'):.3f} (sender {m.send / 1e3:.0f} us + {m.send_byte:.2f} ns "
                 f"a byte, receiver {m.receive / 1e3:.0f} us + {m.receive_byte:.2f} ns a byte)")
    if table.rows[0].as_captured is not None:
        lines.append(f"with the costs of the graph file instead: {table.correlation(emulated='as_captured'):.3f}")
    lines.append(f"step time: emulated differs from measured by {table.apart():.1%} in the median, with that work by {table.apart('with_copies'):.1%}")
    lines.append(f"disturbed by other work: {disturbed} of {steps} steps that count")
    lines.append(f"memory: emulated by live peak {least:.3f} to {most:.3f} over all devices; asked: {LEAST} to {MOST}")
    return lines


def markdown(tables: Sequence[Table], method: Sequence[str], limits: Sequence[str]) -> str:
    """The whole report."""
    lines = ["# Emulated against measured runs", "", *(paragraph + "\n" for paragraph in method), "Limits:", "", *(f"- {limit}" for limit in limits), ""]
    lines += ["Rank correlation (Spearman) of emulated and measured step times:", "",
              "| graph | nodes | placements | by the wall | least steps | in cores' time | copies, wall | copies, cores | file's costs | apart | copies, apart "
              "| memory, least | most |",
              "|---|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for t in tables:
        captured = f"{t.correlation(emulated='as_captured'):.3f}" if t.rows[0].as_captured is not None else "-"
        numbers = [f"{value:.3f}" for value in (t.correlation(), t.correlation("least"), t.correlation("core_median"), t.correlation("median", "with_copies"),
                                                t.correlation("core_median", "with_copies"))]
        apart = [f"{t.apart():.1%}", f"{t.apart('with_copies'):.1%}"]
        lines.append("| " + " | ".join([t.graph, f"{t.nodes:,}", str(len(t.rows)), *numbers, captured, *apart, *(f"{m:.3f}" for m in t.memory)]) + " |")
    for t in tables:
        lines += ["", f"## {t.graph}", "",
                  f"Work of all nodes: {t.work:.1f} ms ({t.captured_work:.1f} ms in the graph file). Peaks: MiB, emulated / live, device by device. "
                  f"Disturbed by other work: {sum(r.disturbed for r in t.rows)} of {sum(len(r.measured) for r in t.rows)} steps that count.", "",
                  f"A message costs its sender {t.message.send / 1e3:.0f} us and {t.message.send_byte:.2f} ns a byte of a core, its receiver "
                  f"{t.message.receive / 1e3:.0f} us and {t.message.receive_byte:.2f} ns a byte.", "",
                  "| placement | kind | emulated ms | with copies | measured ms | least ms | in cores' time | cores' ms | values sent | MiB sent | peaks |",
                  "|---|---|---|---|---|---|---|---|---|---|---|"]
        for r in sorted(t.rows, key=lambda r: r.emulated):
            peaks = ", ".join(f"{e / 2**20:.1f} / {live / 2**20:.1f}" for e, live in zip(r.emulated_peaks, r.live_peaks))
            cpu = ", ".join(f"{ms:.0f}" for ms in r.cpu)
            lines.append(f"| {r.name} | {r.kind} | {r.emulated:.1f} | {r.with_copies:.1f} | {r.median:.1f} | {r.least:.1f} | {r.core_median:.1f} | {cpu} "
                         f"| {r.sent:,} | {r.sent_bytes / 2**20:.1f} | {peaks} |")
    return "\n".join(lines) + "\n"
