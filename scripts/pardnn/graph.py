"""A computational graph in memory: arrays over nodes and edges, and a builder that grows them one node at a time.

Units are those of the graph file: integer nanoseconds and bytes. ``V`` is the number of nodes, ``E`` of edges.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]


class Kind(IntEnum):
    """What a node is: an operation, memory that lives for the whole run, or an operation that mutates such memory."""

    NORMAL = 0
    RESIDUAL = 1
    REFERENCE = 2


class Edge(NamedTuple):
    """``bytes`` of output number ``output`` of node ``source`` go to node ``target``; 0 bytes order the two and carry nothing."""

    source: int
    target: int
    bytes: int
    output: int = 0


@dataclass
class Graph:
    """Nodes ``0 .. V-1`` and edges sorted by (source, target, output).

    ``comp``, ``mem``, ``temp``, ``kind``, ``colocation``, ``alias``, ``fixed``, ``gradient_of``, ``op``: int64[V].
    ``source``, ``target``, ``bytes``, ``output``: int64[E]. ``names``: V unique strings. ``op_types``: names of operations.
    """

    names: list[str]
    op_types: list[str]
    op: Int64
    comp: Int64
    mem: Int64
    temp: Int64
    kind: Int64
    colocation: Int64
    alias: Int64
    fixed: Int64
    gradient_of: Int64
    source: Int64
    target: Int64
    bytes: Int64
    output: Int64
    name: str = "graph"
    producer: str = ""
    samples_per_step: int = 1
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def num_nodes(self) -> int:
        return len(self.names)

    @property
    def num_edges(self) -> int:
        return len(self.source)

    def op_name(self, node: int) -> str:
        return self.op_types[int(self.op[node])]

    def residual_bytes(self) -> int:
        """Bytes of all residuals: what parameters, buffers and optimizer state occupy."""
        return int(self.mem[self.kind == Kind.RESIDUAL].sum())

    def topological_order(self) -> Int64:
        """Node ids so that every edge points forward; among ready nodes the order of ids. Raises ValueError naming a cycle. O(V + E)."""
        indptr = np.concatenate([[0], np.cumsum(np.bincount(self.source, minlength=self.num_nodes))]).tolist()
        target = self.target.tolist()
        missing = np.bincount(self.target, minlength=self.num_nodes).tolist()
        order = [n for n in range(self.num_nodes) if missing[n] == 0]
        for n in order:
            for e in range(indptr[n], indptr[n + 1]):
                missing[target[e]] -= 1
                if missing[target[e]] == 0:
                    order.append(target[e])
        if len(order) < self.num_nodes:
            raise ValueError("cycle: " + " -> ".join(self.names[n] for n in self._cycle(missing)))
        return np.array(order, dtype=np.int64)

    def _cycle(self, missing: Sequence[int]) -> list[int]:
        """Nodes of one cycle, the first repeated at the end. ``missing`` is positive on it (and on what it feeds)."""
        before: dict[int, int] = {}
        for s, t in zip(self.source.tolist(), self.target.tolist()):
            if missing[s] > 0 and missing[t] > 0:
                before.setdefault(t, s)
        node = next(n for n, m in enumerate(missing) if m > 0)
        place: dict[int, int] = {}
        path: list[int] = []
        while node not in place:
            place[node] = len(path)
            path.append(node)
            node = before[node]
        return [node, *reversed(path[place[node]:])]


class GraphBuilder:
    """Collects nodes and edges; :meth:`build` merges, sorts and checks them."""

    _COLUMNS = ("op", "comp", "mem", "temp", "kind", "colocation", "alias", "fixed", "gradient_of")

    def __init__(self, name: str = "graph", producer: str = "") -> None:
        self.name = name
        self.producer = producer
        self.samples_per_step = 1
        self.notes: dict[str, str] = {}
        self.names: list[str] = []
        self._op_types: dict[str, int] = {}
        self._columns: dict[str, array[int]] = {c: array("q") for c in self._COLUMNS}
        self._edges: tuple[array[int], array[int], array[int], array[int]] = (array("q"), array("q"), array("q"), array("q"))

    def __len__(self) -> int:
        return len(self.names)

    def node(self, name: str, *, op: str, comp: int = 0, mem: int = 0, temp: int = 0, kind: Kind = Kind.NORMAL,
             colocation: int = -1, alias: int = -1, fixed: int = -1, gradient_of: int = -1) -> int:
        """Adds a node and returns its id. Names may repeat: :meth:`build` makes them unique. Times in ns, sizes in bytes. ValueError beyond 63 bits."""
        values = (self._op_types.setdefault(op, len(self._op_types)), comp, mem, temp, int(kind), colocation, alias, fixed, gradient_of)
        try:
            for column, value in zip(self._COLUMNS, values):
                self._columns[column].append(value)
        except OverflowError:
            raise ValueError(f"node '{name}': {column} {value} exceeds 63 bits") from None
        self.names.append(name)
        return len(self.names) - 1

    def set(self, node: int, **values: int) -> None:
        """Changes columns of a node: ``set(n, comp=5, alias=3)``."""
        for column, value in values.items():
            self._columns[column][node] = int(value)

    def get(self, node: int, column: str) -> int:
        return self._columns[column][node]

    def edge(self, source: int, target: int, bytes: int, output: int = 0) -> None:
        """Output ``output`` of ``source``, ``bytes`` large, is read by ``target``; 0 bytes: order alone."""
        try:
            for column, value in zip(self._edges, (source, target, bytes, output)):
                column.append(value)
        except OverflowError:
            raise ValueError(f"edge '{self.names[source]}' -> '{self.names[target]}': {bytes} bytes exceed 63 bits") from None

    def build(self) -> Graph:
        """The graph: parallel edges with the same output are one (the greatest bytes count), names unique, checked.

        Raises ValueError on a self loop, an edge to nowhere, a negative cost or a cycle. O(V + E log E).
        """
        source, target, size, output = (np.array(c, dtype=np.int64) for c in self._edges)
        columns = {c: np.array(v, dtype=np.int64) for c, v in self._columns.items()}
        _check(self.names, columns, source, target, size)
        source, target, size, output = _merged(source, target, size, output)
        graph = Graph(names=unique_names(self.names), op_types=list(self._op_types), **columns, source=source, target=target, bytes=size,
                      output=output, name=self.name, producer=self.producer, samples_per_step=self.samples_per_step, notes=dict(self.notes))
        graph.topological_order()
        return graph


def _check(names: Sequence[str], columns: dict[str, Int64], source: Int64, target: Int64, size: Int64) -> None:
    for label, ends in (("source", source), ("target", target)):
        outside = np.flatnonzero((ends < 0) | (ends >= len(names)))
        if len(outside):
            raise ValueError(f"edge {outside[0]}: {label} {ends[outside[0]]} is no node (there are {len(names)})")
    loops = np.flatnonzero(source == target)
    if len(loops):
        raise ValueError(f"edge {loops[0]}: a self loop at '{names[source[loops[0]]]}'")
    if (size < 0).any():
        raise ValueError(f"edge {np.flatnonzero(size < 0)[0]}: negative bytes")
    for column in ("comp", "mem", "temp"):
        negative = np.flatnonzero(columns[column] < 0)
        if len(negative):
            raise ValueError(f"node '{names[negative[0]]}': negative {column}")
        if columns[column].sum(dtype=np.float64) >= 2.0**63:
            raise ValueError(f"{column} of all nodes exceeds 63 bits")


def _merged(source: Int64, target: Int64, size: Int64, output: Int64) -> tuple[Int64, Int64, Int64, Int64]:
    """Edges sorted by (source, target, output), the largest of equal ones; of several control edges between two nodes, or one beside data, one at most."""
    order = np.lexsort((-size, output, target, source))
    source, target, size, output = source[order], target[order], size[order], output[order]
    if not len(source):
        return source, target, size, output
    same_ends = (source[1:] == source[:-1]) & (target[1:] == target[:-1])
    first = np.concatenate([[True], ~(same_ends & (output[1:] == output[:-1]))])
    source, target, size, output = source[first], target[first], size[first], output[first]
    # A control edge beside any other edge between the same nodes says nothing more.
    pair = np.cumsum(np.concatenate([[True], (source[1:] != source[:-1]) | (target[1:] != target[:-1])])) - 1
    data = np.bincount(pair, weights=size > 0) > 0
    start = np.concatenate([[True], pair[1:] != pair[:-1]])
    keep = np.where(data[pair], size > 0, start)
    return source[keep], target[keep], size[keep], output[keep]


def printable(text: str) -> str:
    """The text with '?' for each control character."""
    return "".join(c if c.isprintable() else "?" for c in text)


def unique_names(names: Iterable[str]) -> list[str]:
    """The names, in order; control characters become '?', an empty name its index, and a repeated one gets '#2', '#3', ..."""
    taken: set[str] = set()
    counts: dict[str, int] = {}
    result = []
    for index, name in enumerate(names):
        name = printable(name) or f"node{index}"
        candidate = name
        while candidate in taken:
            counts[name] = counts.get(name, 1) + 1
            candidate = f"{name}#{counts[name]}"
        taken.add(candidate)
        result.append(candidate)
    return result
