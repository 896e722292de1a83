"""What a capture tells its user: totals, where costs come from, what was left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..costs import How
from ..graph import Kind

if TYPE_CHECKING:
    from .capture import Capture


def report(found: Capture) -> Iterator[str]:
    """Lines to print: nodes, residual bytes, FLOPs, coverage of costs, dead nodes, random calls."""
    graph, coverage = found.graph, found.coverage
    views = int(((graph.alias >= 0) & (graph.kind == Kind.NORMAL)).sum())
    yield f"graph      {graph.name}: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges"
    yield (f"nodes      {int((graph.kind == Kind.RESIDUAL).sum()):,} residual, {int((graph.kind == Kind.REFERENCE).sum()):,} that update them, "
           f"{views:,} views and in-place, {int((graph.gradient_of >= 0).sum()):,} gradients")
    yield f"residual   {graph.residual_bytes()} B ({graph.residual_bytes() / 2**30:.3g} GiB)"
    yield f"work       {coverage.flops:,} FLOPs, {int(graph.comp.sum()):,} ns, {graph.samples_per_step} samples per step"
    yield f"costs      {_coverage(found)}"
    dead = sum(coverage.dead.values())
    yield f"dead       {dead:,} calls left out" + (": " + ", ".join(f"{n} {op}" for op, n in coverage.dead.most_common(5)) if dead else "")
    yield f"random     {len(found.program.random_nodes):,} calls"


def _coverage(found: Capture) -> str:
    nodes, ns = found.coverage.nodes, found.coverage.ns
    count, time = max(1, sum(nodes.values())), max(1, sum(ns.values()))
    return "; ".join(f"{how.value} {100 * nodes[how] / count:.1f} % of calls, {100 * ns[how] / time:.1f} % of time" for how in How if nodes[how]) or "no calls"
