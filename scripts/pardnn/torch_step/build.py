"""From what was recorded to a graph and its program: dead operations go, edges and colocation groups come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..capture_common import Costing
from ..costs import Cost, OpCall, TensorSpec
from ..disjoint_sets import DisjointSets
from ..graph import Graph, GraphBuilder, Kind
from .errors import CaptureError
from .outputs import last_readers, outputs_apart, unread_bytes
from .program import Binding, Call, Constant, InputSlot, Program
from .record import Record, written
from .values import Atom, Ref, Spec, map_args


@dataclass
class Recording:
    """Records in order, what must share a device, gradients by residual, and what is given to and returned by the step."""

    records: list[Record]
    ties: list[tuple[int, int]]
    gradients: dict[int, Ref]
    bindings: list[Binding]
    inputs: list[InputSlot]
    outputs: list[tuple[str, Ref]]


def live_nodes(recording: Recording) -> list[bool]:
    """Nodes that a write into a residual or a returned value depends on; residuals and inputs always are. O(V + E)."""
    records = recording.records
    live = [r.operator is None and r.what != "Constant" or any(records[w].kind == Kind.RESIDUAL for w in r.writes) for r in records]
    for _, ref in recording.outputs:
        live[ref.node] = True
    for node in range(len(records) - 1, -1, -1):
        if live[node]:
            for ref in records[node].reads:
                live[ref.node] = True
    return live


def build(recording: Recording, costing: Costing, *, name: str, producer: str) -> tuple[Graph, Program, Counter[str]]:
    """The graph with its costs, the program bound to it by node ids, and the calls that nothing needs, by operation. O(V + E log E)."""
    builder = _Builder(recording, costing, GraphBuilder(name, producer))
    for node, record in enumerate(recording.records):
        builder.add(node, record)
    graph = builder.graph.build()
    for binding in recording.bindings:
        binding.ref = builder.moved(binding.ref)
    for slot in recording.inputs:
        slot.ref = builder.moved(slot.ref)
    program = Program(calls=builder.calls, bindings=recording.bindings, inputs=recording.inputs, constants=builder.constants,
                      outputs=[(label, builder.moved(ref)) for label, ref in recording.outputs])
    return graph, program, builder.dead


class _Builder:
    """Adds live records one by one; references to old ids become references to new ones."""

    def __init__(self, recording: Recording, costing: Costing, graph: GraphBuilder) -> None:
        self.graph = graph
        self.calls: list[Call | None] = []
        self.constants: dict[int, Constant] = {}
        self.dead: Counter[str] = Counter()
        self._records = recording.records
        self._costing = costing
        self._live = live_nodes(recording)
        self._new_id = [-1] * len(recording.records)
        self._apart: dict[Ref, Ref] = {}
        self._last = last_readers(recording.records, self._live, [ref for _, ref in recording.outputs])
        self._gradient_of = {ref: residual for residual, ref in recording.gradients.items() if self._live[ref.node]}
        self._marked = frozenset(self._gradient_of)
        self._groups = _groups(recording, self._live)
        self._next_group = max(self._groups.values(), default=-1) + 1
        self._written = written(recording.records)

    def moved(self, ref: Ref) -> Ref:
        """A reference by new ids."""
        return self._apart.get(ref) or Ref(self._new_id[ref.node], ref.output)

    def add(self, old: int, record: Record) -> None:
        if not self._live[old]:
            self.dead[record.what] += 1
            return
        apart = outputs_apart(record, old, self._last, self._marked)
        unread = unread_bytes(record, self._last)
        self._new_id[old] = self._node(old, record, sum(apart.values()), unread)
        if record.what == "Constant":
            self.constants[self._new_id[old]] = _constant(record, old in self._written)
        for output, size in apart.items():
            self._output(old, record, output, size)
        if record.mem and record.alias is None:
            self._extras(old, record)
        for output in range(len(record.outputs)):
            if Ref(old, output) in self._gradient_of and output not in apart:
                self._gradient(old, record, output)

    def _node(self, old: int, record: Record, apart: int, unread: int) -> int:
        cost = Cost(0)
        if record.operator is not None:
            cost = self._costing.modelled(record.name, op_call(record, self._records))
        node = self.graph.node(record.name, op=record.what, comp=cost.ns, mem=record.mem - apart - unread, temp=cost.temp + unread + apart,
                               kind=Kind(record.kind), colocation=self._groups.get(old, self._groups.get(record.root, -1)),
                               alias=self.moved(record.alias).node if record.alias else -1)
        for ref in record.reads:
            source = self.moved(ref)
            self.graph.edge(source.node, node, self._records[ref.node].spec(ref.output).unique_bytes, source.output)
        for before in record.after:
            if self._new_id[before] >= 0:
                self.graph.edge(self._new_id[before], node, 0)
        self.calls.append(_call(record, self.moved))
        return node

    def _output(self, old: int, record: Record, output: int, size: int) -> None:
        """One output of a call as a node with memory and lifetime of its own; it takes no time and stays with the call."""
        node = self._new_id[old]
        if self.graph.get(node, "colocation") < 0:
            self.graph.set(node, colocation=self._next_group)
            self._next_group += 1
        self._alias_node(old, record, output, mem=size, colocation=self.graph.get(node, "colocation"))

    def _extras(self, old: int, record: Record) -> None:
        """What a call writes beside making new memory (batch norm's running statistics), read after it: views of what is written.

        As outputs of the call their readers would keep its new memory alive.
        """
        for number, (changed, _) in enumerate(record.extras, start=len(record.outputs)):
            self._alias_node(old, record, number, alias=self.moved(changed).node)

    def _gradient(self, old: int, record: Record, output: int) -> None:
        """Marks a gradient: the node itself if it has no other output, else a view of that output."""
        node = self._new_id[old]
        tensors = sum(spec is not None for spec in record.outputs)
        if record.operator is not None and record.kind == Kind.NORMAL and tensors == 1:
            self.graph.set(node, gradient_of=self._new_id[self._gradient_of[Ref(old, output)]])
        else:
            self._alias_node(old, record, output, alias=node)

    def _alias_node(self, old: int, record: Record, output: int, *, mem: int = 0, colocation: int = -1, alias: int = -1) -> None:
        spec = record.spec(output)
        gradient = self._gradient_of.get(Ref(old, output))
        node = self.graph.node(f"{record.name}.{output}", op="aten::alias", mem=mem, colocation=colocation, alias=alias,
                               gradient_of=-1 if gradient is None else self._new_id[gradient])
        source = Ref(self._new_id[old], output)
        self.graph.edge(source.node, node, spec.unique_bytes, output)
        self.calls.append(Call("aten::alias.default", (source,), {}, (spec,)))
        self._apart[Ref(old, output)] = Ref(node, 0)


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
    sets: DisjointSets[int] = DisjointSets()
    for a, b in recording.ties:
        if live[a] and live[b]:
            sets.join(a, b)
    numbers: dict[int, int] = {}
    return {node: numbers.setdefault(sets.find(node), len(numbers)) for node, record in enumerate(recording.records)
            if live[node] and (record.kind == 1 or node in sets)}


def _call(record: Record, moved: Callable[[Ref], Ref]) -> Call | None:
    if record.operator is None:
        return None
    leaf = lambda value: moved(value) if isinstance(value, Ref) else value  # noqa: E731
    return Call(op=record.operator.name, args=map_args(record.args, leaf), kwargs={k: map_args(v, leaf) for k, v in record.kwargs.items()},
                outputs=tuple(record.outputs), extras=tuple((moved(ref), spec) for ref, spec in record.extras), random=record.random)


def _constant(record: Record, written: bool) -> Constant:
    import torch

    if record.foreign and written:
        raise CaptureError(f"{record.foreign}: a tensor is written that is no parameter, buffer, optimizer state or input of the step; "
                           "register it as a buffer of a module that is passed in")
    assert record.data is not None and record.outputs[0] is not None
    return Constant(record.outputs[0], record.data.contiguous().view(torch.uint8).numpy().tobytes())
