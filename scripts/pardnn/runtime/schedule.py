"""The emulated run of a placement: when each node starts and ends, when each edge is delivered, and in which order all nodes start."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from ..graph import Graph, Int64
from .links import Machine


@dataclass
class Schedule:
    """``order``: position of each node among all starts, int64[V]. ``start``, ``finish``: ns, int64[V]. ``delivered``: ns, int64[E]."""

    order: Int64
    start: Int64
    finish: Int64
    delivered: Int64

    @property
    def makespan(self) -> int:
        """ns"""
        return int(self.finish.max(initial=0))


def emulate(graph: Graph, device: Int64, machine: Machine) -> Schedule:
    """The run under the policy fifo and links without contention. O((V + E) log V)."""
    duration = machine.duration(graph.comp, device).tolist()
    cost = machine.cost(graph.bytes, device[graph.source], device[graph.target])
    costs, target, place = cost.tolist(), graph.target.tolist(), device.tolist()
    indptr = np.concatenate([[0], np.cumsum(np.bincount(graph.source, minlength=graph.num_nodes))]).tolist()
    missing = np.bincount(graph.target, minlength=graph.num_nodes).tolist()
    ready = [0] * graph.num_nodes
    start, order = [0] * graph.num_nodes, [0] * graph.num_nodes
    queues: list[list[tuple[int, int]]] = [[] for _ in machine.speed]
    idle = [True] * len(queues)
    running: list[tuple[int, int]] = []
    coming = [(0, n) for n in range(graph.num_nodes) if not missing[n]]
    count = 0
    while running or coming:
        now = min(heap[0][0] for heap in (running, coming) if heap)
        while (running and running[0][0] == now) or (coming and coming[0][0] <= now):
            touched = set()
            while running and running[0][0] == now:
                _, node = heapq.heappop(running)
                idle[place[node]] = True
                touched.add(place[node])
                for e in range(indptr[node], indptr[node + 1]):
                    v = target[e]
                    ready[v] = max(ready[v], now + costs[e])
                    missing[v] -= 1
                    if not missing[v]:
                        heapq.heappush(coming, (ready[v], v))
            while coming and coming[0][0] <= now:
                entry = heapq.heappop(coming)
                heapq.heappush(queues[place[entry[1]]], entry)
                touched.add(place[entry[1]])
            for d in sorted(touched):
                if idle[d] and queues[d]:
                    _, node = heapq.heappop(queues[d])
                    idle[d] = False
                    start[node], order[node] = now, count
                    count += 1
                    heapq.heappush(running, (now + duration[node], node))
    begun = np.array(start, dtype=np.int64)
    finish = begun + np.array(duration, dtype=np.int64)
    return Schedule(np.array(order, dtype=np.int64), begun, finish, finish[graph.source] + cost)


def in_order(graph: Graph, device: Int64, machine: Machine, order: Int64) -> Schedule:
    """The run in which every device takes its nodes in ``order``, which is topological. O(V log V + E)."""
    duration = machine.duration(graph.comp, device).tolist()
    cost = machine.cost(graph.bytes, device[graph.source], device[graph.target])
    costs, target, place = cost.tolist(), graph.target.tolist(), device.tolist()
    indptr = np.concatenate([[0], np.cumsum(np.bincount(graph.source, minlength=graph.num_nodes))]).tolist()
    ready = [0] * graph.num_nodes
    free = [0] * len(machine.speed)
    start = [0] * graph.num_nodes
    for node in np.argsort(order, kind="stable").tolist():
        start[node] = max(ready[node], free[place[node]])
        end = free[place[node]] = start[node] + duration[node]
        for e in range(indptr[node], indptr[node + 1]):
            ready[target[e]] = max(ready[target[e]], end + costs[e])
    begun = np.array(start, dtype=np.int64)
    finish = begun + np.array(duration, dtype=np.int64)
    return Schedule(order, begun, finish, finish[graph.source] + cost)


def deliveries(graph: Graph, device: Int64, machine: Machine, finish: Int64, order: Int64, ports: bool) -> Int64:
    """When each edge is delivered, ns, given when its source ends; with ``ports`` each device sends one tensor at a time. O(E log E)."""
    source, target = device[graph.source], device[graph.target]
    if not ports:
        return finish[graph.source] + machine.cost(graph.bytes, source, target)
    delivered = finish[graph.source].copy()
    crossing = np.flatnonzero(source != target)
    keys = np.lexsort((graph.output[crossing], target[crossing], order[graph.source[crossing]], finish[graph.source[crossing]]))
    free = [0] * len(machine.speed)
    groups: dict[tuple[int, int, int], list[int]] = {}
    for e in crossing[keys].tolist():
        groups.setdefault((int(graph.source[e]), int(target[e]), int(graph.output[e])), []).append(e)
    for (node, q, _), edges in groups.items():
        p = int(device[node])
        size, at = int(graph.bytes[edges].max()), int(finish[node])
        if size:
            at = free[p] = max(at, free[p]) + -(-size * 10**9 // int(machine.bandwidth[p, q]))
        delivered[edges] = at + int(machine.latency[p, q])
    return delivered
