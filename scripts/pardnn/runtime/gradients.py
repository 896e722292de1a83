"""Gradients that replicas average: which, when nodes that need the averages may run, and in which buckets they travel."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..graph import Graph, Int64
from ..torch_step.program import Program
from ..torch_step.values import Ref
from .errors import RunError
from .memory import roots
from .placement import Placement
from .schedule import in_order


def after_backward(graph: Graph, placement: Placement) -> Placement:
    """The same placement with all nodes that depend on a gradient moved behind all that do not: gradients are averaged while these run.

    Nodes keep their order otherwise; the result is topological since what depends on a gradient is closed under successors. O(V log V + E).
    """
    sources = set(np.flatnonzero(graph.gradient_of >= 0).tolist())
    indptr = np.concatenate([[0], np.cumsum(np.bincount(graph.source, minlength=graph.num_nodes))]).tolist()
    target = graph.target.tolist()
    late = np.zeros(graph.num_nodes, dtype=np.int64)
    stack = list(sources)
    while stack:
        node = stack.pop()
        for e in range(indptr[node], indptr[node + 1]):
            if not late[target[e]]:
                late[target[e]] = 1
                stack.append(target[e])
    sequence = np.lexsort((placement.schedule.order, late))
    order = np.empty(graph.num_nodes, dtype=np.int64)
    order[sequence] = np.arange(graph.num_nodes)
    return Placement(placement.device, placement.devices, in_order(graph, placement.device, placement.machine, order), placement.machine, True)


def gradient_value(program: Program, graph: Graph, node: int) -> Ref:
    """Which output of a node with ``gradient_of`` is the gradient: the only tensor, else the one of the parameter's shape. Raises RunError if unclear."""
    call = program.calls[node]
    found = [Ref(node, i) for i, spec in enumerate(call.outputs if call is not None else ()) if spec is not None]
    if len(found) > 1:
        shapes = {b.spec.shape for b in program.bindings if b.ref.node == graph.gradient_of[node]}
        found = [ref for ref in found if program.spec(ref).shape in shapes]
    if len(found) != 1:
        raise RunError(f"node '{graph.names[node]}': which of its outputs is the gradient of '{graph.names[int(graph.gradient_of[node])]}' is not clear")
    return found[0]


def first_readers(graph: Graph, order: Int64) -> dict[int, int]:
    """For each gradient that somebody reads: its first reader on any device, in id order of gradients."""
    found: dict[int, int] = {}
    marked = graph.gradient_of >= 0
    for e in np.flatnonzero(marked[graph.source] & (graph.bytes > 0)).tolist():
        g, v = int(graph.source[e]), int(graph.target[e])
        if g not in found or order[v] < order[found[g]]:
            found[g] = v
    return found


@dataclass
class Bucket:
    """Gradients of one device that are averaged by one all-reduce, and where each lies in the bucket (elements)."""

    dtype: str
    members: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    elements: int = 0
    bytes: int = 0


@dataclass
class BucketPlan:
    """``launch``: buckets that start once a node has run; ``finish[i]``: gradients that must be averaged before local node number i.

    ``peak``: greatest sum of bytes of buckets under way. ``in_place``: gradients whose memory may take the average; others get new memory.
    ``value``: which output is the gradient. ``spans``: for each bucket local numbers of the node after which it starts and of the one before which it
    is over, and its bytes.
    """

    buckets: list[Bucket]
    launch: dict[int, list[int]]
    finish: dict[int, list[int]]
    home: dict[int, int]
    in_place: set[int]
    peak: int
    value: dict[int, Ref] = field(default_factory=dict)
    spans: list[tuple[int, int, int]] = field(default_factory=list)


def plan_buckets(program: Program, graph: Graph, order: Int64, nodes: list[int], readers: dict[int, int], limit: int) -> BucketPlan:
    """Buckets of up to ``limit`` bytes in the order in which the gradients on one device (``nodes``, in order) become ready."""
    places = order[np.array(nodes, dtype=np.int64)] if nodes else np.zeros(0, np.int64)
    local = {n: i for i, n in enumerate(nodes)}
    due: dict[int, list[int]] = {}
    for g in nodes:
        if g in readers:
            due.setdefault(int(np.searchsorted(places, order[readers[g]])), []).append(g)
    plan = BucketPlan([], {}, due, {}, _in_place(graph, order, local, readers), 0)
    open_buckets: dict[str, int] = {}
    left: dict[int, int] = {}
    begun: dict[int, int] = {}
    held = 0

    def launch(b: int, node: int) -> None:
        nonlocal held
        plan.launch.setdefault(node, []).append(b)
        del open_buckets[plan.buckets[b].dtype]
        left[b] = len(plan.buckets[b].members)
        begun[b] = local[node]
        held += plan.buckets[b].bytes
        plan.peak = max(plan.peak, held)

    for i in range(len(nodes) + 1):
        for g in due.get(i, ()):
            if plan.home[g] in open_buckets.values():
                launch(plan.home[g], nodes[i - 1])
            left[plan.home[g]] -= 1
            if not left[plan.home[g]]:
                held -= plan.buckets[plan.home[g]].bytes
                plan.spans.append((begun[plan.home[g]], i, plan.buckets[plan.home[g]].bytes))
        if i < len(nodes) and nodes[i] in readers:
            g = nodes[i]
            spec = program.spec(gradient_value(program, graph, g))
            plan.value[g] = gradient_value(program, graph, g)
            size = int(np.prod(spec.shape, dtype=np.int64))
            b = open_buckets.setdefault(spec.dtype, len(plan.buckets))
            if b == len(plan.buckets):
                plan.buckets.append(Bucket(spec.dtype))
            bucket = plan.buckets[b]
            bucket.members.append(g)
            bucket.offsets.append(bucket.elements)
            bucket.elements += size
            bucket.bytes += size * spec.itemsize
            plan.home[g] = b
            if bucket.bytes >= limit:
                launch(b, g)
    return plan


def _in_place(graph: Graph, order: Int64, local: dict[int, int], readers: dict[int, int]) -> set[int]:
    """Gradients whose buffer nobody needs as it was, once the first node that wants the average may run."""
    root = roots(graph)
    gradients = [g for g in local if g in readers]
    shared = {int(root[g]) for g in gradients}
    members: dict[int, list[int]] = {}
    for n in np.flatnonzero(np.isin(root, np.array(sorted(shared), dtype=np.int64))).tolist():
        members.setdefault(int(root[n]), []).append(n)
    of_member = {n for group in members.values() for n in group}
    reads: dict[int, list[int]] = {}
    wanted = np.zeros(graph.num_nodes, dtype=bool)
    wanted[list(of_member)] = True
    for e in np.flatnonzero(wanted[graph.source] & (graph.bytes > 0)).tolist():
        reads.setdefault(int(graph.source[e]), []).append(int(graph.target[e]))
    found = set()
    for g in gradients:
        due = order[readers[g]]
        others = [n for n in members[int(root[g])] if n != g and order[n] < due]
        late = any(order[v] >= due or v not in local for n in others for v in reads.get(n, ()))
        if not late:
            found.add(g)
    return found
