"""From what was recorded to a graph and its program: dead operations go, edges and colocation groups come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..costs import Cost, CostModel, How, OpCall, TensorSpec
from ..graph import Graph, GraphBuilder, Kind
from .errors import CaptureError
from .program import Binding, Call, Constant, InputSlot, Program
from .recorder import Record
from .values import Atom, Ref, Spec, map_args


@dataclass
class Coverage:
    """Where costs come from: nodes and ns by :class:`How`; floating-point operations in all; dead calls by operation."""

    nodes: Counter[How] = field(default_factory=Counter)
    ns: Counter[How] = field(default_factory=Counter)
    flops: int = 0
    dead: Counter[str] = field(default_factory=Counter)

    def add(self, cost: Cost) -> None:
        self.nodes[cost.how] += 1
        self.ns[cost.how] += cost.ns
        self.flops += cost.flops


@dataclass
class Recording:
    """Records in order, what must share a device, and what is given to and returned by the step."""

    records: list[Record]
    ties: list[tuple[int, int]]
    bindings: list[Binding]
    inputs: list[InputSlot]
    outputs: list[tuple[str, Ref]]


def live_nodes(recording: Recording) -> list[bool]:
    """Nodes that a write into a residual or a returned value depends on; residuals and inputs always are. O(V + E)."""
    records = recording.records
    live = [r.operator is None and r.what != "Constant" or any(records[w].kind == 1 for w in r.writes) for r in records]
    for _, ref in recording.outputs:
        live[ref.node] = True
    for node in range(len(records) - 1, -1, -1):
        if live[node]:
            for ref in records[node].reads:
                live[ref.node] = True
    return live


def build(recording: Recording, costs: CostModel, *, name: str, producer: str) -> tuple[Graph, Program, Coverage]:
    """The graph with the costs that the model gives, the program bound to it by node ids, and what was found. O(V + E log E)."""
    coverage = Coverage()
    live = live_nodes(recording)
    new_id = [-1] * len(recording.records)
    builder = GraphBuilder(name, producer)
    groups = _groups(recording, live)
    calls: list[Call | None] = []
    constants: dict[int, Constant] = {}
    for old, record in enumerate(recording.records):
        if not live[old]:
            coverage.dead[record.what] += 1
            continue
        new_id[old] = _add_node(builder, recording, old, new_id, groups, costs, coverage)
        calls.append(_call(record, new_id))
        if record.what == "Constant":
            constants[new_id[old]] = _constant(record, recording)
    graph = builder.build()
    moved = lambda ref: Ref(new_id[ref.node], ref.output)  # noqa: E731
    for binding in recording.bindings:
        binding.ref = moved(binding.ref)
    for slot in recording.inputs:
        slot.ref = moved(slot.ref)
    program = Program(calls=calls, bindings=recording.bindings, inputs=recording.inputs, constants=constants,
                      outputs=[(label, moved(ref)) for label, ref in recording.outputs])
    return graph, program, coverage


def _add_node(builder: GraphBuilder, recording: Recording, old: int, new_id: Sequence[int], groups: Mapping[int, int], costs: CostModel,
              coverage: Coverage) -> int:
    record = recording.records[old]
    cost = Cost(0)
    if record.operator is not None:
        cost = costs.cost(op_call(record, recording.records))
        coverage.add(cost)
    node = builder.node(record.name, op=record.what, comp=cost.ns, mem=record.mem, temp=cost.temp, kind=Kind(record.kind),
                        colocation=groups.get(old, groups.get(record.root, -1)), alias=new_id[record.alias] if record.alias >= 0 else -1,
                        gradient_of=new_id[record.gradient_of] if record.gradient_of >= 0 else -1)
    for ref in record.reads:
        builder.edge(new_id[ref.node], node, recording.records[ref.node].spec(ref.output).unique_bytes, ref.output)
    for before in record.after:
        if new_id[before] >= 0:
            builder.edge(new_id[before], node, 0)
    return node


def op_call(record: Record, records: Sequence[Record]) -> OpCall:
    """The call as a cost model is told it."""
    assert record.operator is not None

    def leaf(value: Any) -> Any:
        if isinstance(value, Ref):
            return tensor_spec(records[value.node].spec(value.output))
        return value.text if isinstance(value, Atom) else value

    return OpCall(op=record.operator.name, args=map_args(record.args, leaf), kwargs={k: map_args(v, leaf) for k, v in record.kwargs.items()},
                  outputs=tuple(tensor_spec(s) for s in record.outputs if s is not None), flops=record.flops, is_view=record.is_view)


def tensor_spec(spec: Spec) -> TensorSpec:
    return TensorSpec(spec.shape, spec.dtype, spec.itemsize, spec.strides)


def _groups(recording: Recording, live: Sequence[bool]) -> dict[int, int]:
    """Colocation group of each root that is tied to another, and of each residual; numbered in order of their first node."""
    leader: dict[int, int] = {}

    def find(node: int) -> int:
        while leader.setdefault(node, node) != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    for a, b in recording.ties:
        if live[a] and live[b]:
            low, high = sorted((find(a), find(b)))
            leader[high] = low
    numbers: dict[int, int] = {}
    return {node: numbers.setdefault(find(node), len(numbers)) for node, record in enumerate(recording.records)
            if live[node] and (record.kind == 1 or node in leader)}


def _call(record: Record, new_id: Sequence[int]) -> Call | None:
    if record.operator is None:
        return None
    leaf = lambda value: Ref(new_id[value.node], value.output) if isinstance(value, Ref) else value  # noqa: E731
    return Call(op=record.operator.name, args=map_args(record.args, leaf), kwargs={k: map_args(v, leaf) for k, v in record.kwargs.items()},
                outputs=tuple(record.outputs), extras=tuple((leaf(ref), spec) for ref, spec in record.extras), random=record.random)


def _constant(record: Record, recording: Recording) -> Constant:
    import torch

    assert record.data is not None and record.outputs[0] is not None
    node = recording.records.index(record) if record.foreign else -1
    if record.foreign and any(node in r.writes for r in recording.records):
        raise CaptureError(f"{record.foreign}: a tensor is written that is no parameter, buffer, optimizer state or input of the step; "
                           "register it as a buffer of a module that is passed in")
    return Constant(record.outputs[0], record.data.contiguous().view(torch.uint8).numpy().tobytes())
