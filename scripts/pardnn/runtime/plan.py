"""What each rank does in a step, decided before it starts: its nodes in order, and what is received, waited for, sent and averaged between them.

No rank can wait for ever. All ranks follow one order of all nodes; a rank sends without waiting, has a receive posted before it needs the value, and
waits only for values whose source comes earlier in that order. Where memory is short it also waits for sends to end, which they do once the other rank
has begun to receive: before a node, for sends that were over in the emulated run when the node began, after it has itself begun all receives up to
then; before it begins a receive, for sends that were over and had left before that time. So whatever a rank waits for happened earlier in the emulated
run, or at the same time but for a rank that waits before a node, not before a receive.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..graph import Graph, Int64, Kind
from ..torch_step.program import Program
from ..torch_step.values import Ref
from .gradients import BucketPlan, after_backward, first_readers, plan_buckets
from .memory import peaks, roots
from .placement import Placement
from .waiting import outputs_taken_over, waiting_outputs


@dataclass
class Transfer:
    """A value that device ``source`` sends to ``target`` once, or (``token``) the word alone that the node has run.

    ``tag``: its number among those between the two devices, in the order in which they are sent. ``sent``: position in the order of all nodes at which
    it leaves; ``taken``: ns of the emulated run from which on ``target`` holds memory for it; ``delivered``: ns when it is there, None if unknown.
    ``posted``: ns at which ``target`` begins to receive it, never after ``taken``.
    """

    ref: Ref
    source: int
    target: int
    token: bool
    bytes: int
    sent: float
    taken: int
    delivered: int | None
    readers: list[int] = field(default_factory=list)
    waiter: int = -1
    tag: int = 0
    posted: int = 0


@dataclass
class DevicePlan:
    """``nodes`` in order. By local position: ``posts`` (receives begun), ``waits``. ``sends``: by node (gradients: once they are averaged).

    ``uses``: for each buffer how many runs of members and readers, sends and outputs there are until it may go; ``copies``: the same for received
    values, ``apart``: for outputs whose memory counts for nodes of their own. ``read``: all values made here that somebody reads. ``waiting``: bytes by
    which the peak is greater than the emulated one with outputs that wait for such a node.
    """

    device: int
    nodes: list[int]
    starts: list[int]
    posts: dict[int, list[Transfer]]
    waits: dict[int, list[Transfer]]
    sends: dict[int, list[Transfer]]
    uses: dict[int, int]
    copies: dict[Ref, int]
    apart: dict[Ref, int]
    read: set[Ref]
    root: list[int]
    mem: dict[int, int]
    residuals: list[int]
    buckets: BucketPlan | None
    emulated_peak: int
    waiting: int = 0


@dataclass
class StepPlan:
    """Plans of all devices or of one, and what the run needs to know of the others."""

    placement: Placement
    transfers: list[Transfer]
    dropped_tokens: int
    devices: dict[int, DevicePlan]
    outputs: list[tuple[str, Ref, int]]

    @property
    def bytes_sent(self) -> int:
        return sum(t.bytes for t in self.transfers)


def plan_step(program: Program, graph: Graph, placement: Placement, *, only: Sequence[int] | None = None, replicas: int = 1,
              bucket_bytes: int = 25 * 10**6, ahead: int = 0) -> StepPlan:
    """The plan of one step, in O((V + E) log E).

    ``only``: devices whose plans are wanted (all). ``ahead``: receives begin that many nodes earlier than emulated.
    """
    readers: dict[int, int] = {}
    if replicas > 1:
        placement = after_backward(graph, placement)
        readers = first_readers(graph, placement.schedule.order)
    transfers, dropped = _transfers(program, graph, placement, readers)
    sequence = np.argsort(placement.schedule.order, kind="stable")
    root = roots(graph)
    taken_over = outputs_taken_over(program, graph)
    apart = {ref for _, node in taken_over for ref in _reads(program, node)}
    outputs = [(name, ref, int(placement.device[ref.node])) for name, ref in program.outputs]
    found = {}
    for d in range(placement.devices) if only is None else only:
        nodes = sequence[placement.device[sequence] == d].tolist()
        found[d] = _device_plan(program, graph, placement, d, nodes, transfers, root, outputs, apart, ahead)
        if replicas > 1:
            found[d].buckets = plan_buckets(program, graph, placement.schedule.order, nodes, readers, bucket_bytes)
    _set_peaks(graph, placement, readers, found, taken_over)
    return StepPlan(placement, transfers, dropped, found, outputs)


def _transfers(program: Program, graph: Graph, placement: Placement, averaged: dict[int, int]) -> tuple[list[Transfer], int]:
    """All transfers of a step, tags given; and the number of control edges between devices that need no token of their own."""
    device, schedule = placement.device.tolist(), placement.schedule
    order, start, finish = schedule.order, schedule.start, schedule.finish
    sequence = np.argsort(order, kind="stable").tolist()
    found: dict[tuple[Ref, int], Transfer] = {}
    first_of: dict[tuple[int, int], Transfer] = {}
    incoming: dict[int, list[Transfer]] = {}

    def new(ref: Ref, q: int, token: bool, size: int) -> Transfer:
        n = ref.node
        sent, taken = (float(order[n]), int(finish[n])) if token or n not in averaged else (order[averaged[n]] - 0.5, int(start[averaged[n]]))
        return Transfer(ref, device[n], q, token, size, sent, taken, None)

    for v in sequence:
        for ref in _reads(program, v):
            if device[ref.node] == device[v]:
                continue
            key = (ref, device[v])
            if key not in found:
                found[key] = new(ref, device[v], False, program.spec(ref).unique_bytes)
                found[key].waiter = v
                incoming.setdefault(v, []).append(found[key])
                first_of.setdefault((ref.node, device[v]), found[key])
            found[key].readers.append(v)
    tokens, dropped = _tokens(graph, placement, sequence, incoming, first_of, new)
    transfers = [*found.values(), *tokens]
    delivered: dict[tuple[Ref, int], int] = {}
    crossing = np.flatnonzero(placement.device[graph.source] != placement.device[graph.target])
    for e in crossing.tolist():
        key = (Ref(int(graph.source[e]), int(graph.output[e])), device[int(graph.target[e])])
        delivered[key] = max(delivered.get(key, 0), int(schedule.delivered[e]))
    for t in transfers:
        if not t.token:
            t.delivered = delivered.get((t.ref, t.target))
            if t.delivered is not None and t.ref.node in averaged:
                t.delivered += t.taken - int(finish[t.ref.node])
    transfers.sort(key=lambda t: (t.source, t.target, t.sent, t.ref.node, t.token, t.ref.output))
    before: tuple[int, int] = (-1, -1)
    tag = 0
    for t in transfers:
        tag = tag + 1 if (t.source, t.target) == before else 0
        t.tag, before = tag, (t.source, t.target)
    return transfers, dropped


def _tokens(graph: Graph, placement: Placement, sequence: list[int], incoming: dict[int, list[Transfer]], first_of: dict[tuple[int, int], Transfer],
            new: object) -> tuple[list[Transfer], int]:
    """Tokens for control edges between devices that no transfer implies: one that left a device later, and was waited for, tells as much."""
    device, order = placement.device.tolist(), placement.schedule.order.tolist()
    control: dict[int, list[int]] = {}
    for e in np.flatnonzero((graph.bytes == 0) & (placement.device[graph.source] != placement.device[graph.target])).tolist():
        control.setdefault(int(graph.target[e]), []).append(int(graph.source[e]))
    seen: dict[tuple[int, int], int] = {}
    tokens: dict[tuple[int, int], Transfer] = {}
    dropped = 0
    for v in sequence:
        q = device[v]
        for t in incoming.get(v, ()):
            seen[t.source, q] = max(seen.get((t.source, q), -1), order[t.ref.node])
        for u in sorted(control.get(v, ()), key=lambda n: -order[n]):
            if order[u] <= seen.get((device[u], q), -1):
                dropped += 1
                continue
            seen[device[u], q] = order[u]
            token = tokens[u, q] = new(Ref(u, 0), q, True, 0)  # type: ignore[operator]
            token.waiter = v
            incoming.setdefault(v, []).append(token)
    return list(tokens.values()), dropped


def _device_plan(program: Program, graph: Graph, placement: Placement, d: int, nodes: list[int], transfers: list[Transfer], root: Int64,
                 outputs: list[tuple[str, Ref, int]], apart: set[Ref], ahead: int) -> DevicePlan:
    local = {n: i for i, n in enumerate(nodes)}
    starts = placement.schedule.start[np.array(nodes, dtype=np.int64)].tolist() if nodes else []
    residual = graph.kind == Kind.RESIDUAL
    own = graph.mem + graph.temp
    mem = {n: int(own[n]) for n in nodes if not residual[n]}
    plan = DevicePlan(d, nodes, starts, {}, {}, {}, {}, {}, {}, set(), root.tolist(), mem, [n for n in nodes if residual[n]], None, 0)

    def use(node: int) -> None:
        r = plan.root[node]
        if not residual[r]:
            plan.uses[r] = plan.uses.get(r, 0) + 1

    for v in nodes:
        use(v)
        for ref in _reads(program, v):
            if ref.node in local:
                use(ref.node)
                plan.read.add(ref)
                plan.apart[ref] = plan.apart.get(ref, 0) + 1
            else:
                plan.copies[ref] = plan.copies.get(ref, 0) + 1
    plan.apart = {ref: count for ref, count in plan.apart.items() if ref in apart}
    for _, ref, where in outputs:
        if where == d:
            use(ref.node)
            plan.read.add(ref)
            plan.apart.pop(ref, None)
    for t in transfers:
        if t.source == d:
            plan.sends.setdefault(t.ref.node, []).append(t)
            if not t.token:
                use(t.ref.node)
                plan.read.add(t.ref)
                plan.apart.pop(t.ref, None)
        if t.target == d:
            plan.waits.setdefault(local[t.waiter], []).append(t)
    for t, at in _posts([t for t in transfers if t.target == d], local, starts, ahead):
        plan.posts.setdefault(at, []).append(t)
    return plan


def _reads(program: Program, node: int) -> list[Ref]:
    call = program.calls[node]
    return call.reads() if call is not None else []


def _set_peaks(graph: Graph, placement: Placement, averaged: dict[int, int], plans: dict[int, DevicePlan], taken_over: list[tuple[int, int]]) -> None:
    """The emulated peak of each plan, buckets in it, and what waiting outputs add to it."""
    schedule = placement.schedule
    sent = schedule.finish.copy()
    for g, reader in averaged.items():
        sent[g] = schedule.start[reader]
    spans = []
    for d, plan in plans.items():
        ends = [*plan.starts, schedule.makespan + 1]
        for first, last, size in plan.buckets.spans if plan.buckets else ():
            spans.append((d, int(schedule.finish[plan.nodes[first]]), ends[last], size))
    for d, peak in enumerate(peaks(graph, placement.device, schedule, placement.devices, sent=sent, more=spans)):
        if d in plans:
            plans[d].emulated_peak = peak
    spans += waiting_outputs(taken_over, graph, placement.device.tolist(), schedule)
    for d, peak in enumerate(peaks(graph, placement.device, schedule, placement.devices, sent=sent, more=spans)):
        if d in plans:
            plans[d].waiting = peak - plans[d].emulated_peak


def _posts(coming: list[Transfer], local: dict[int, int], starts: list[int], ahead: int) -> list[tuple[Transfer, int]]:
    """Local positions before which receives begin, in order: when the emulated run takes memory for them; from one device in the order in which they
    are sent, also where one that is sent earlier is taken later.
    """
    found = []
    latest: dict[int, tuple[int, int]] = {}
    for number in range(len(coming) - 1, -1, -1):
        t = coming[number]
        at = max(0, min(bisect_left(starts, t.taken), local[t.waiter]) - ahead)
        at, t.posted = latest[t.source] = min((at, min(t.taken, starts[at])), latest.get(t.source, (at, t.taken)))
        found.append((at, t.posted, number))
    return [(coming[number], at) for at, _, number in sorted(found)]
