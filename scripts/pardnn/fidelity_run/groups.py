"""Nodes that have to share a device: views with what they view, and colocation groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..disjoint_sets import DisjointSets
from ..graph import Graph, Int64


@dataclass(frozen=True)
class Groups:
    """``of``: the group of each node, int64[V], numbered by first place in topological order. ``work``: ns of each. ``fixed``: its device, or -1."""

    of: Int64
    work: Int64
    fixed: Int64

    @property
    def count(self) -> int:
        return len(self.work)

    def devices(self, of_group: Int64) -> Int64:
        """Devices of all nodes from those of the groups; pinned groups stay where they have to be."""
        return np.where(self.fixed >= 0, self.fixed, of_group)[self.of]


def groups(graph: Graph) -> Groups:
    """O((V + E) log V)."""
    leader = _leaders(graph)
    order = graph.topological_order()
    number = np.full(graph.num_nodes, -1, dtype=np.int64)
    count = 0
    for root in leader[order].tolist():
        if number[root] < 0:
            number[root] = count
            count += 1
    of = number[leader]
    work = np.zeros(count, dtype=np.int64)
    np.add.at(work, of, graph.comp)
    fixed = np.full(count, -1, dtype=np.int64)
    np.maximum.at(fixed, of, graph.fixed)
    return Groups(of, work, fixed)


def _leaders(graph: Graph) -> Int64:
    sets: DisjointSets[int] = DisjointSets()
    first: dict[int, int] = {}
    for n, (alias, group) in enumerate(zip(graph.alias.tolist(), graph.colocation.tolist())):
        if alias >= 0:
            sets.join(n, alias)
        if group >= 0:
            sets.join(n, first.setdefault(group, n))
    return np.array([sets.find(n) for n in range(graph.num_nodes)], dtype=np.int64)
