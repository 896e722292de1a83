"""Costs of functional control flow: If, Case and While stay one node, which takes the time of what it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..capture_common import CaptureError, Costing, Report
from ..costs import Cost, TensorSpec

if TYPE_CHECKING:
    from .convert import Options

_LOOPS = frozenset({"While", "StatelessWhile"})
_CHOICES = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
FUNCTIONAL = _LOOPS | _CHOICES


def body_cost(node: Any, library: Any, inputs: Sequence[TensorSpec], types: Sequence[tuple[int, bool]], costing: Costing, options: Options,
              report: Report) -> Cost:
    """A loop: condition and body, ``options.iterations`` times. A choice: its dearest branch. Workspace: all that one body puts out."""
    if node.op in _LOOPS:
        report.count(f"While loops taken as one node of {options.iterations} iterations", node.name)
        parts = [_function_cost(node, node.attr[name].func.name, library, inputs, types, costing, options, report) for name in ("cond", "body")]
        parts = [Cost(sum(p.ns for p in parts) * options.iterations, max(p.temp for p in parts), sum(p.flops for p in parts) * options.iterations)]
    else:
        report.count("If and Case nodes taken as their dearest branch", node.name)
        branches = [f.name for f in node.attr["branches"].list.func] or [node.attr[b].func.name for b in ("then_branch", "else_branch")]
        parts = [_function_cost(node, name, library, inputs[1:], types[1:], costing, options, report) for name in branches]
    best = max(parts, key=lambda p: p.ns)
    costing.flops += best.flops
    return costing.tallied(node.name, Cost(best.ns, best.temp, 0), f"tf::{node.op}")


def _function_cost(node: Any, name: str, library: Any, inputs: Sequence[TensorSpec], types: Sequence[tuple[int, bool]], costing: Costing,
                   options: Options, report: Report) -> Cost:
    """The summed cost of a function's nodes with arguments of these shapes."""
    from .convert import Options, convert

    function = next((f for f in library.function if f.signature.name == name), None)
    if function is None:
        raise CaptureError(f"node '{node.name}' runs function '{name}', which the graph's library lacks")
    definition = _graph_of(function, library, inputs, types)
    inner = Costing(costing.model, costing.unknown_ns)
    graph, told = convert(definition, inner, Options(unknown_dim=options.unknown_dim, iterations=options.iterations, fetches=[_CALL]))
    for what in ("tensors of unknown rank, taken as one element", f"tensors with unknown dimensions, each taken as {options.unknown_dim}"):
        report.count(what, node.name, told.of(what))
    normal = graph.kind != 1
    return Cost(int(graph.comp.sum()), int(graph.mem[normal].sum()), inner.flops)


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
