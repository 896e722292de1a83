"""What a capture dropped, guessed or added, counted by a sentence's subject and printed at its end."""

from __future__ import annotations

from ..graph import Graph
from .costing import Costing


class Report:
    """Counts under a text, with the first name as the example: ``report.count("tensors of unknown size taken as 0 B", name)``."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, str]] = {}
        self._notes: list[str] = []

    def note(self, text: str) -> None:
        """A line of its own."""
        self._notes.append(text)

    def count(self, what: str, example: str = "", times: int = 1) -> None:
        if times:
            before, first = self._counts.get(what, (0, example))
            self._counts[what] = (before + times, first)

    def of(self, what: str) -> int:
        """How often ``what`` was counted; 0 if never."""
        return self._counts.get(what, (0, ""))[0]

    def lines(self) -> list[str]:
        return self._notes + [f"{count:,} {what}" + (f" (first: {example})" if example else "") for what, (count, example) in sorted(self._counts.items())]


def summary(graph: Graph, costing: Costing, report: Report) -> list[str]:
    """The lines that every capture prints: size, memory, work, coverage, and what was dropped or guessed."""
    residual = graph.residual_bytes()
    lines = [f"graph     {graph.name}: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges, {graph.samples_per_step} samples a step",
             f"memory    residuals {residual} B ({residual / 2**30:.3f} GiB), outputs {int(graph.mem.sum()) - residual} B",
             f"work      {costing.coverage.flops:.6g} FLOP known, {int(graph.comp.sum()):,} ns",
             f"costs     {costing.coverage.line()}"]
    return lines + [f"note      {line}" for line in report.lines()]
