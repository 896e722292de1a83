"""Simple methods, made here since the program compares them without writing their placements. Groups move as one: their first node decides."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from ..graph import Graph, Int64
from ..runtime.links import Machine
from .groups import Groups


def baselines(graph: Graph, groups: Groups, machine: Machine) -> Iterator[tuple[str, Int64]]:
    """Name and devices of each node."""
    devices = len(machine.speed)
    yield "single", groups.devices(np.full(groups.count, int(np.argmax(machine.speed)), dtype=np.int64))
    yield "round robin", groups.devices(np.arange(groups.count, dtype=np.int64) % devices)
    yield "blocks", groups.devices(blocks(groups, devices))
    yield "heft", list_scheduled(graph, groups, machine, earliest_first=False)
    yield "etf", list_scheduled(graph, groups, machine, earliest_first=True)


def blocks(groups: Groups, count: int) -> Int64:
    """Contiguous blocks of equal work, in the order of the groups."""
    before = np.cumsum(groups.work) - groups.work
    return np.minimum(before * count // max(int(groups.work.sum()), 1), count - 1).astype(np.int64)


def bottom_levels(graph: Graph, machine: Machine) -> list[int]:
    """Costliest path from each node to an end, ns; an edge costs as between devices 0 and 1."""
    level = graph.comp.tolist()
    comp = graph.comp.tolist()
    if len(machine.speed) > 1:
        ones = np.ones(graph.num_edges, dtype=np.int64)
        cost = machine.cost(graph.bytes, 0 * ones, ones).tolist()
    else:
        cost = [0] * graph.num_edges
    indptr = np.concatenate([[0], np.cumsum(np.bincount(graph.source, minlength=graph.num_nodes))]).tolist()
    target = graph.target.tolist()
    for n in graph.topological_order()[::-1].tolist():
        level[n] = comp[n] + max((cost[e] + level[target[e]] for e in range(indptr[n], indptr[n + 1])), default=0)
    return level


def list_scheduled(graph: Graph, groups: Groups, machine: Machine, *, earliest_first: bool) -> Int64:
    """HEFT without insertion (the greatest bottom level first), or ETF (what became ready first, by its earliest start); earliest finish decides."""
    devices = range(len(machine.speed))
    duration = [machine.duration(graph.comp, np.full(graph.num_nodes, d, dtype=np.int64)).tolist() for d in devices]
    ends = [np.full(graph.num_edges, d, dtype=np.int64) for d in devices]
    cost = [[machine.cost(graph.bytes, ends[p], ends[q]).tolist() for q in devices] for p in devices]
    incoming: list[list[tuple[int, int]]] = [[] for _ in range(graph.num_nodes)]
    outgoing: list[list[int]] = [[] for _ in range(graph.num_nodes)]
    for e, (u, v) in enumerate(zip(graph.source.tolist(), graph.target.tolist())):
        incoming[v].append((u, e))
        outgoing[u].append(v)
    of, where = groups.of.tolist(), groups.fixed.tolist()
    missing = [len(edges) for edges in incoming]
    level = bottom_levels(graph, machine)
    finish = [0] * graph.num_nodes
    free = [0 for _ in devices]

    def key(n: int) -> int:
        return max((finish[u] for u, _ in incoming[n]), default=0) if earliest_first else -level[n]

    ready = [(key(n), -level[n], n) for n in range(graph.num_nodes) if not missing[n]]
    heapq.heapify(ready)
    while ready:
        _, _, n = heapq.heappop(ready)
        choice = [where[of[n]]] if where[of[n]] >= 0 else devices
        ended = [(max(free[d], max((finish[u] + cost[where[of[u]]][d][e] for u, e in incoming[n]), default=0)) + duration[d][n], d) for d in choice]
        finish[n], d = min(ended)
        where[of[n]], free[d] = d, finish[n]
        for v in outgoing[n]:
            missing[v] -= 1
            if not missing[v]:
                heapq.heappush(ready, (key(v), -level[v], v))
    return groups.devices(np.array(where, dtype=np.int64))
