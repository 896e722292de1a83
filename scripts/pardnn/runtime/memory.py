"""Peak memory of each device in the emulated run: residuals always, buffers while somebody needs them, copies from elsewhere, workspace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..graph import Graph, Int64, Kind
from .schedule import Schedule


def roots(graph: Graph) -> Int64:
    """The node whose buffer each node's output lies in. O(V log V)."""
    root = np.where(graph.alias >= 0, graph.alias, np.arange(graph.num_nodes))
    while True:
        further = root[root]
        if (further == root).all():
            return root
        root = further


def peaks(graph: Graph, device: Int64, schedule: Schedule, devices: int, *, sent: Int64 | None = None,
          more: Sequence[tuple[int, int, int, int]] = ()) -> list[int]:
    """Bytes at the worst moment of each device. O((V + E) log E).

    ``sent``: ns at which each node's outputs leave its device, by default when it ends. ``more``: other memory as (device, from ns, to ns, bytes).
    """
    extra = np.array(more, dtype=np.int64).reshape(-1, 4)
    root = roots(graph)
    start, finish = schedule.start, schedule.finish
    last = np.zeros(graph.num_nodes, dtype=np.int64)
    np.maximum.at(last, root, finish)
    data = graph.bytes > 0
    source, target, delivered = graph.source[data], graph.target[data], schedule.delivered[data]
    crosses = device[source] != device[target]
    np.maximum.at(last, root[source], np.where(crosses, delivered, finish[target]))
    owner = (root == np.arange(graph.num_nodes)) & (graph.kind == Kind.NORMAL)
    nodes = np.flatnonzero(owner)
    copy_of, copy_to, copy_bytes, copy_end = _copies(source[crosses], graph.output[data][crosses], device[target[crosses]], graph.bytes[data][crosses],
                                                      finish[target[crosses]])
    running = np.flatnonzero(graph.temp > 0)
    where = np.concatenate([device[nodes], copy_to, device[running], extra[:, 0]])
    begin = np.concatenate([start[nodes], (finish if sent is None else sent)[copy_of], start[running], extra[:, 1]])
    end = np.concatenate([last[nodes], copy_end, finish[running], extra[:, 2]])
    size = np.concatenate([graph.mem[nodes], copy_bytes, graph.temp[running], extra[:, 3]])
    found = []
    for d in range(devices):
        residual = int(graph.mem[(graph.kind == Kind.RESIDUAL) & (device == d)].sum())
        here = (where == d) & (begin < end)
        found.append(residual + _highest(begin[here], end[here], size[here]))
    return found


def _copies(source: Int64, output: Int64, to: Int64, size: Int64, end: Int64) -> tuple[Int64, Int64, Int64, Int64]:
    """One copy per (source, output, device): (source, device, bytes, end)."""
    order = np.lexsort((to, output, source))
    source, output, to, size, end = source[order], output[order], to[order], size[order], end[order]
    first = np.ones(len(source), dtype=bool)
    first[1:] = (source[1:] != source[:-1]) | (output[1:] != output[:-1]) | (to[1:] != to[:-1])
    starts = np.flatnonzero(first)
    if not len(starts):
        return source, to, size, end
    return source[starts], to[starts], np.maximum.reduceat(size, starts), np.maximum.reduceat(end, starts)


def _highest(begin: Int64, end: Int64, size: Int64) -> int:
    """The greatest sum of sizes over half-open intervals."""
    times = np.concatenate([end, begin])
    change = np.concatenate([-size, size])
    order = np.lexsort((change > 0, times))
    return int(np.cumsum(change[order]).max(initial=0))
