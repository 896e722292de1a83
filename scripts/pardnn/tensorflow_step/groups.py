"""Colocation groups: what TensorFlow keeps on one device."""

from __future__ import annotations

from ..disjoint_sets import DisjointSets
from .flat_graph import FlatGraph
from .variables import Touches

_RESOURCE = 20  # DT_RESOURCE


def colocation_groups(graph: FlatGraph, found: Touches, dtypes: list[list[int]]) -> list[int]:
    """A group for each node, or -1. Together are: nodes with the same ``_class`` loc:@NAME and NAME itself; a variable and all that take it
    by reference or handle; any other resource's handle and what takes it. Groups are numbered by their first nodes. O(nodes + edges)."""
    sets: DisjointSets[int] = DisjointSets()
    index = {name: n for n, name in enumerate(graph.names)}
    first_of_class: dict[str, int] = {}
    for n, node in enumerate(graph.nodes):
        for place in node.attr["_class"].list.s if "_class" in node.attr else ():
            name = place.decode(errors="replace")
            if name.startswith("loc:@"):
                sets.join(n, first_of_class.setdefault(name, index.get(name[5:], n)))
        for variable in (*found.reads.get(n, ()), *found.writes.get(n, ())):
            sets.join(n, variable)
        for source, output in graph.data(n):
            if output < len(dtypes[source]) and dtypes[source][output] == _RESOURCE:
                sets.join(n, source)
    sizes: dict[int, int] = {}
    for n in range(len(graph)):
        sizes[sets.find(n)] = sizes.get(sets.find(n), 0) + 1
    numbers: dict[int, int] = {}
    return [numbers.setdefault(sets.find(n), len(numbers)) if sizes[sets.find(n)] > 1 else -1 for n in range(len(graph))]
