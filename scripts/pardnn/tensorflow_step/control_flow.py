"""Costs of functional control flow: If, Case and While stay one node, which takes the time of what it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..capture_common import CaptureError, Costing, Report
from ..costs import Cost, How, TensorSpec
from ..graph import Kind
from .shapes import UNKNOWN_RANK, unknown_dims

if TYPE_CHECKING:
    from .convert import Options

_LOOPS = frozenset({"While", "StatelessWhile"})
_CHOICES = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
_PUSHES = frozenset({"TensorListPushBack", "TensorListSetItem", "TensorArrayWriteV3", "StackPushV2"})
FUNCTIONAL = _LOOPS | _CHOICES


_RESOURCE = 20  # DT_RESOURCE


def bypass_loops_with_handles(graph: Any) -> None:
    """Readers of a handle that a While hands on read the handle itself, and wait for the While. In place.

    The handle is the same; behind the While, shape inference would no longer know the variable.
    """
    through = {f"{node.name}:{i}": node.input[i] for node in graph.node if node.op in _LOOPS
               for i, dtype in enumerate(node.attr["T"].list.type) if dtype == _RESOURCE}
    for node in graph.node if through else ():
        waits = []
        for i, name in enumerate(node.input):
            key = name if ":" in name else f"{name}:0"
            while key in through:
                waits.append(f"^{key.rpartition(':')[0]}")
                name = through[key]
                key = name if ":" in name else f"{name}:0"
            node.input[i] = name
        node.input.extend(wait for wait in dict.fromkeys(waits) if wait not in node.input)


class Run(NamedTuple):
    """``cost`` of a node with bodies, its workspace being all that one body puts out; ``kept``: bytes that loops push onto lists."""

    cost: Cost
    kept: int


class Bodies:
    """Costs of If, Case and While nodes of a graph with function library ``library``."""

    def __init__(self, library: Any, costing: Costing, options: Options, report: Report) -> None:
        self._functions = {function.signature.name: function for function in library.function}
        self._library, self._costing, self._options, self._report = library, costing, options, report

    def run(self, node: Any, inputs: Sequence[TensorSpec], types: Sequence[tuple[int, bool]]) -> Run:
        """A loop: condition and body, ``options.iterations`` times. A choice: its dearest branch. ``types``: DataType, and if a variable's handle."""
        times = self._options.iterations if node.op in _LOOPS else 1
        if node.op in _LOOPS:
            self._report.count(f"While loops taken as one node of {times} iterations", node.name)
            condition, body = (self._function(node, node.attr[name].func.name, inputs, types) for name in ("cond", "body"))
            how = How.GUESSED if How.GUESSED in (condition.cost.how, body.cost.how) else How.MODELLED
            once = Run(Cost(condition.cost.ns + body.cost.ns, body.cost.temp, condition.cost.flops + body.cost.flops, how), body.kept)
        else:
            self._report.count("If and Case nodes taken as their dearest branch", node.name)
            names = [f.name for f in node.attr["branches"].list.func] or [node.attr[b].func.name for b in ("then_branch", "else_branch")]
            once = max((self._function(node, name, inputs[1:], types[1:]) for name in names), key=lambda run: run.cost.ns)
        cost = Cost(once.cost.ns * times, once.cost.temp, once.cost.flops * times, once.cost.how)
        return Run(self._costing.tallied(node.name, cost, f"tf::{node.op}"), once.kept * times)

    def _function(self, node: Any, name: str, inputs: Sequence[TensorSpec], types: Sequence[tuple[int, bool]]) -> Run:
        """The summed cost of a function's nodes with arguments of these shapes, guessed if one of them is."""
        from .convert import Options, convert

        if name not in self._functions:
            raise CaptureError(f"node '{node.name}' runs function '{name}', which the graph's library lacks")
        if name in self._options.within:
            raise CaptureError(f"node '{node.name}' runs function '{name}', inside of which it is")
        definition = _graph_of(self._functions[name], self._library, inputs, types)
        inner = Costing(self._costing.model, self._costing.coverage.unknown_ns)
        options = Options(unknown_dim=self._options.unknown_dim, iterations=self._options.iterations, fetches=[_CALL], within=self._options.within | {name})
        try:
            graph, told = convert(definition, inner, options)
        except CaptureError as error:
            raise CaptureError(f"in a body of node '{node.name}': {error}") from error
        for what in (UNKNOWN_RANK, unknown_dims(options.unknown_dim)):
            self._report.count(what, node.name, told.of(what))
        made = [n for n in range(graph.num_nodes) if graph.kind[n] == Kind.NORMAL and graph.op_name(n) != "Placeholder"]
        pushes = np.array([graph.op_name(n) in _PUSHES for n in range(graph.num_nodes)])
        how = How.GUESSED if inner.coverage.nodes[How.GUESSED] else How.MODELLED
        return Run(Cost(int(graph.comp.sum()), int(graph.mem[made].sum()), inner.coverage.flops, how), int(graph.bytes[pushes[graph.target]].sum()))


_CALL = "call"


def _graph_of(function: Any, library: Any, inputs: Sequence[TensorSpec], types: Sequence[tuple[int, bool]]) -> Any:
    """A GraphDef that calls the function with placeholders, and with variables where it takes handles of such."""
    from tensorflow.core.framework import graph_pb2
    from tensorflow.python.framework import versions

    definition = graph_pb2.GraphDef()
    definition.versions.producer = versions.GRAPH_DEF_VERSION
    definition.library.CopyFrom(library)
    names = []
    for i, (spec, (dtype, is_variable)) in enumerate(zip(inputs, types)):
        node = definition.node.add()
        node.name = f"argument_{i}"
        node.op = "VarHandleOp" if is_variable else "Placeholder"
        node.attr["dtype"].type = _variable_type(spec) if is_variable else dtype
        node.attr["shape"].shape.SetInParent()
        for size in spec.shape:
            node.attr["shape"].shape.dim.add().size = size
        names.append(node.name)
    call = definition.node.add()
    call.name, call.op = _CALL, "PartitionedCall"
    call.attr["f"].func.name = function.signature.name
    call.input.extend(names)
    return definition


def _variable_type(spec: TensorSpec) -> int:
    from tensorflow.python.framework import dtypes

    return dtypes.as_dtype(spec.dtype).as_datatype_enum
