"""What a capture tells its user: totals, where costs come from, what was left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..graph import Kind

if TYPE_CHECKING:
    from .capture import Capture


def report(found: Capture) -> Iterator[str]:
    """Lines to print: nodes, residual bytes, FLOPs, coverage of costs, dead nodes, random calls."""
    graph = found.graph
    views = int(((graph.alias >= 0) & (graph.kind == Kind.NORMAL)).sum())
    yield f"graph      {graph.name}: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges"
    yield (f"nodes      {int((graph.kind == Kind.RESIDUAL).sum()):,} residual, {int((graph.kind == Kind.REFERENCE).sum()):,} that update them, "
           f"{views:,} views and in-place, {int((graph.gradient_of >= 0).sum()):,} gradients")
    yield f"residual   {graph.residual_bytes()} B ({graph.residual_bytes() / 2**30:.3g} GiB)"
    yield f"work       {found.coverage.flops:,} FLOPs, {int(graph.comp.sum()):,} ns, {graph.samples_per_step} samples per step"
    yield f"costs      {found.coverage.line()}"
    dead = found.dead.total()
    yield f"dead       {dead:,} calls left out" + (": " + ", ".join(f"{n} {op}" for op, n in found.dead.most_common(5)) if dead else "")
    yield f"random     {len(found.program.random_nodes):,} calls"
