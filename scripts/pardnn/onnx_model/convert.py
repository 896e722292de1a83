"""A ModelProto with its shapes as a graph for the partitioner."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..capture_common import CaptureError, Costing, Report
from ..capture_common.samples import samples_of
from ..costs import Cost, How, OpCall, TensorSpec
from ..graph import Graph, GraphBuilder, Kind
from .flops import flops_of
from .model_file import Prepared
from .subgraphs import bodies, outer_reads, trip_count
from .tensors import Tensors, initializer_spec

# Outputs that are views of the first input. A Transpose moves its elements.
VIEWS = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"})


@dataclass
class Options:
    """``unknown_dim``: size taken for unknown dimensions; None refuses them. ``iterations``: of loops whose trip count is no constant.
    ``samples``: of one step, if told.
    """

    unknown_dim: int | None = None
    iterations: int = 1
    samples: int | None = None
    name: str = "model"


@dataclass
class Captured:
    """``mapping``: lines of (node in the graph, place in the model, operation, name in the model), separated by tabs, with a head."""

    graph: Graph
    report: Report
    mapping: str


def convert(model: Prepared, costing: Costing, options: Options) -> Captured:
    """The graph of a model whose shapes are inferred. O(nodes + edges)."""
    try:
        return _Conversion(model, costing, options).result()
    except CaptureError:
        raise
    except ValueError as error:  # a cycle, a size beyond 63 bits
        raise CaptureError(str(error)) from error


class _Conversion:
    def __init__(self, model: Prepared, costing: Costing, options: Options) -> None:
        graph = model.graph
        self.model, self.at, self.costing, self.options = graph, model.places, costing, options
        self.report = Report()
        self.tensors = Tensors(options.unknown_dim, self.report)
        self.tensors.add_graph(graph)
        self.builder = GraphBuilder(options.name, "pardnn.capture_onnx")
        self.builder.samples_per_step = samples_of(options.samples, None, self.report)
        self.source: dict[str, tuple[int, int]] = {}  # tensor -> (node, output)
        self.places: list[tuple[str, str, str]] = []
        self.constants = {t.name: v for t in graph.initializer if (v := _scalar(t)) is not None}
        self.constants.update({n.output[0]: v for n in graph.node if n.op_type == "Constant" for a in n.attribute if a.name == "value"
                               if (v := _scalar(a.t)) is not None})

    def result(self) -> Captured:
        used = self._used_nodes(self._producers())
        self._add_sources(used)
        ids = {i: self._add_node(i) for i in used}
        for i in used:
            self._add_edges(i, ids[i])
        graph = self.builder.build()
        lines = ["\t".join(line) for line in zip(graph.names, *zip(*self.places))] if self.places else []
        return Captured(graph, self.report, "\n".join(["node\tplace\toperation\tname", *lines]) + "\n")

    # What there is

    def _producers(self) -> dict[str, int]:
        """The node that writes each tensor. CaptureError if two do."""
        given = {v.name: "an input" for v in self.model.input} | {t.name: "an initializer" for t in self.model.initializer}
        producer: dict[str, int] = {}
        for i, node in enumerate(self.model.node):
            for name in node.output:
                if name and (name in producer or name in given):
                    other = given.get(name) or f"node {self.at[producer[name]]} ({self.model.node[producer[name]].op_type})"
                    raise CaptureError(f"tensor '{name}' is written by {other} and by node {self.at[i]} ({node.op_type}); expected one")
                if name:
                    producer[name] = i
        return producer

    def _used_nodes(self, producer: dict[str, int]) -> list[int]:
        """Nodes that the outputs need, in the model's order; all where the model names no output."""
        outputs = [v.name for v in self.model.output]
        if not outputs:
            return list(range(len(self.model.node)))
        used = bytearray(len(self.model.node))
        stack = [producer[name] for name in outputs if name in producer]
        while stack:
            i = stack.pop()
            if not used[i]:
                used[i] = 1
                stack.extend(producer[name] for name in self._reads(i) if name in producer)
        kept = [i for i in range(len(used)) if used[i]]
        dead = next((self._name(i) for i in range(len(used)) if not used[i]), "")
        self.report.count("nodes dropped that no output needs", dead, len(used) - len(kept))
        return kept

    def _reads(self, i: int) -> list[str]:
        node = self.model.node[i]
        return [name for name in node.input if name] + outer_reads(node)

    def _name(self, i: int) -> str:
        node = self.model.node[i]
        return node.name or f"{node.op_type}_{self.at[i]}"

    # Nodes

    def _add_sources(self, used: Iterable[int]) -> None:
        """Initializers as residuals, then inputs, where some node reads them."""
        read = {name for i in used for name in self._reads(i)}
        held = list(self.model.initializer)
        self.report.count("initializers dropped that no node reads", times=sum(t.name not in read for t in held))
        for i, tensor in enumerate(held):
            if tensor.name in read:
                self._source_node(tensor.name, "Initializer", f"initializer {i}", Kind.RESIDUAL)
        for i, sparse in enumerate(self.model.sparse_initializer):
            if sparse.values.name in read:
                size = initializer_spec(sparse.values).unique_bytes + initializer_spec(sparse.indices).unique_bytes
                self._source_node(sparse.values.name, "SparseInitializer", f"sparse initializer {i}", Kind.RESIDUAL, size)
        for i, value in enumerate(self.model.input):
            if value.name in read and value.name not in self.source:
                self._source_node(value.name, "Input", f"input {i}", Kind.NORMAL)

    def _source_node(self, name: str, op: str, place: str, kind: Kind, size: int | None = None) -> None:
        self.source[name] = self.builder.node(name, op=op, mem=self.tensors.of(name).unique_bytes if size is None else size, kind=kind), 0
        self.places.append((place, op, name))

    def _add_node(self, i: int) -> int:
        node = self.model.node[i]
        name = self._name(i)
        if not node.name:
            self.report.count("nodes without a name, named by their operation and place", name)
        outputs = [self.tensors.of(o) for o in node.output if o]
        size = sum(t.unique_bytes for t in outputs)
        if node.op_type == "Constant":
            added = self.builder.node(name, op="Constant", mem=size, kind=Kind.RESIDUAL)
        else:
            view = node.op_type in VIEWS
            cost = self._cost(node, name, outputs, view)
            added = self.builder.node(name, op=_operation(node), comp=cost.ns, temp=cost.temp, mem=0 if view else size)
        self.places.append((f"node {self.at[i]}", _operation(node), node.name))
        self.source.update({o: (added, k) for k, o in enumerate(node.output) if o})
        return added

    def _add_edges(self, i: int, target: int) -> None:
        node = self.model.node[i]
        for name in self._reads(i):
            if name not in self.source:
                raise CaptureError(f"node '{self._name(i)}' reads tensor '{name}', which nothing writes")
            source, output = self.source[name]
            self.builder.edge(source, target, self.tensors.of(name).unique_bytes if source != target else 0, output)
        if node.op_type in VIEWS and node.input and node.input[0]:
            self.builder.set(target, alias=self.source[node.input[0]][0])

    # Costs

    def _cost(self, node: Any, name: str, outputs: list[TensorSpec], view: bool) -> Cost:
        if bodies(node):
            return self.costing.tallied(name, self._body_cost(node, name), f"onnx::{node.op_type}")
        return self.costing.modelled(name, self._call(node, outputs, view))

    def _call(self, node: Any, outputs: list[TensorSpec], view: bool) -> OpCall:
        inputs = [self.tensors.of(n) if n else TensorSpec((), "undefined", 0) for n in node.input]
        flops = flops_of(_operation(node), {a.name: _value(a) for a in node.attribute}, inputs, outputs)
        return OpCall(f"onnx::{node.op_type}", tuple(t for t in inputs if t.dtype != "undefined"), outputs=tuple(outputs), flops=flops, is_view=view)

    def _body_cost(self, node: Any, name: str) -> Cost:
        """The dearest of a node's bodies, times the iterations. Workspace: what one run of a body puts out."""
        times = trip_count(node, self.constants, {n: self.tensors.of(n).shape for n in node.input if n})
        if times is None:
            times = self.options.iterations
            self.report.count(f"loops whose trip count is no constant, taken as {times}", name)
        costs = [self._run_cost(body, name) for body in bodies(node)]
        best = max(costs, key=lambda c: c.ns)
        how = How.GUESSED if any(c.how is How.GUESSED for c in costs) else How.MODELLED
        return Cost(best.ns * times, best.temp, best.flops * times, how)

    def _run_cost(self, body: Any, name: str) -> Cost:
        self.tensors.add_graph(body)
        self.constants.update({t.name: v for t in body.initializer if (v := _scalar(t)) is not None})
        ns = temp = flops = 0
        how = How.MODELLED
        for node in body.node:
            outputs = [self.tensors.of(o) for o in node.output if o]
            view = node.op_type in VIEWS
            if node.op_type == "Constant":
                continue
            call = None if bodies(node) else self._call(node, outputs, view)
            cost = self._body_cost(node, name) if call is None else self.costing.model.cost(call)
            ns += cost.ns
            flops += cost.flops if call is None or call.flops is None else call.flops
            temp += 0 if view else sum(t.unique_bytes for t in outputs)
            how = How.GUESSED if cost.how is How.GUESSED else how
        return Cost(ns, temp, flops, how)


def _operation(node: Any) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type


def _value(attribute: Any) -> Any:
    from onnx import helper

    return helper.get_attribute_value(attribute)


def _scalar(tensor: Any) -> int | None:
    """The value of an integer tensor of one element, if it is in the file."""
    from onnx import TensorProto, numpy_helper

    if tensor.data_type not in (TensorProto.INT64, TensorProto.INT32) or tensor.data_location == TensorProto.EXTERNAL:
        return None
    if any(d != 1 for d in tensor.dims):
        return None
    try:
        return int(numpy_helper.to_array(tensor).reshape(-1)[0])
    except ValueError:
        return None  # the tensor holds fewer or more values than it says
