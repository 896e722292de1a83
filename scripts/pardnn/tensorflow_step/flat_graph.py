"""A GraphDef as arrays: which output of which node goes where; pruned to a step, its loops cut or refused."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..capture_common.errors import CaptureError
from .op_kinds import LOOP_BACK

CONTROL = -1


@dataclass
class FlatGraph:
    """``inputs[n]``: pairs (node, output), output being CONTROL for a control edge; data first and in order."""

    nodes: list[Any]
    names: list[str]
    ops: list[str]
    inputs: list[list[tuple[int, int]]]

    def __len__(self) -> int:
        return len(self.nodes)

    def data(self, node: int) -> list[tuple[int, int]]:
        return [(s, o) for s, o in self.inputs[node] if o != CONTROL]


def parse(graph: Any) -> FlatGraph:
    """Reads 'x', 'x:0', 'x:1' and '^x' as edges from one node x. CaptureError on names that are twice there or nowhere."""
    index: dict[str, int] = {}
    for i, node in enumerate(graph.node):
        if index.setdefault(node.name, i) != i:
            raise CaptureError(f"node '{node.name}' is there twice (nodes {index[node.name]} and {i})")
    inputs = [[_end(node.name, name, index) for name in node.input] for node in graph.node]
    return FlatGraph(list(graph.node), list(index), [node.op for node in graph.node], inputs)


def _end(reader: str, name: str, index: dict[str, int]) -> tuple[int, int]:
    control = name.startswith("^")
    base, _, output = name.lstrip("^").partition(":")
    if base not in index:
        raise CaptureError(f"node '{reader}' reads '{name}', but there is no node '{base}'")
    if output and not output.isdigit():
        raise CaptureError(f"node '{reader}' reads '{name}': expected NAME, NAME:OUTPUT or ^NAME")
    return index[base], CONTROL if control else int(output or 0)


def pruned(graph: FlatGraph, roots: Iterable[int]) -> FlatGraph:
    """The nodes that ``roots`` need, in the old order."""
    needed = bytearray(len(graph))
    stack = list(roots)
    while stack:
        node = stack.pop()
        if not needed[node]:
            needed[node] = 1
            stack.extend(s for s, _ in graph.inputs[node])
    kept = [n for n in range(len(graph)) if needed[n]]
    place = {n: i for i, n in enumerate(kept)}
    return FlatGraph([graph.nodes[n] for n in kept], [graph.names[n] for n in kept], [graph.ops[n] for n in kept],
                     [[(place[s], o) for s, o in graph.inputs[n]] for n in kept])


def cut_loops(graph: FlatGraph) -> list[str]:
    """Removes the edges from NextIteration to Merge, in place; the names of the NextIterations."""
    cut: list[str] = []
    for node, op in enumerate(graph.ops):
        if op in ("Merge", "RefMerge"):
            back = [(s, o) for s, o in graph.inputs[node] if graph.ops[s] in LOOP_BACK]
            cut.extend(graph.names[s] for s, _ in back)
            graph.inputs[node] = [edge for edge in graph.inputs[node] if edge not in back]
    return cut


def order(inputs: Sequence[Sequence[tuple[int, int]]], late: Callable[[int], bool]) -> list[int]:
    """A topological order by id in which ``late`` nodes come only when nothing else can; shorter than the graph if there is a cycle."""
    missing = [len(edges) for edges in inputs]
    readers: list[list[int]] = [[] for _ in inputs]
    for node, edges in enumerate(inputs):
        for source, _ in edges:
            readers[source].append(node)
    heaps: tuple[list[int], list[int]] = ([], [])
    for node, count in enumerate(missing):
        if count == 0:
            heaps[late(node)].append(node)
    result = []
    while heaps[0] or heaps[1]:
        node = heapq.heappop(heaps[0] or heaps[1])
        result.append(node)
        for reader in readers[node]:
            missing[reader] -= 1
            if missing[reader] == 0:
                heapq.heappush(heaps[late(reader)], reader)
    return result


def refuse_cycle(graph: FlatGraph) -> None:
    """CaptureError that prints a cycle, if there is one, and what may be done about it. O(nodes + edges)."""
    done = bytearray(len(graph))
    for node in order(graph.inputs, lambda _: False):
        done[node] = 1
    left = next((n for n in range(len(graph)) if not done[n]), None)
    if left is None:
        return
    place: dict[int, int] = {}
    path: list[int] = []
    while left not in place:
        place[left] = len(path)
        path.append(left)
        left = next(s for s, _ in graph.inputs[left] if not done[s])
    cycle = [left, *reversed(path[place[left]:])]
    loop = any(graph.ops[n] in LOOP_BACK for n in cycle)
    raise CaptureError("cycle: " + " -> ".join(f"{graph.names[n]} ({graph.ops[n]})" for n in cycle)
                       + ("; --cut-loops cuts while loops at their back edges, each counting for one iteration" if loop else ""))
