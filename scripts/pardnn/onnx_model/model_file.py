"""ONNX files: the model without its weights, functions laid flat, shapes inferred."""

from __future__ import annotations

import copy
import heapq
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..capture_common.errors import CaptureError
from ..capture_common.wire import DROP_IF_LARGE, Plan, WireFile
from .fold import inferred
from .subgraphs import bodies, outer_reads

# TensorProto: float, int32, string, int64, raw, double, uint64 data.
_TENSOR: Plan = {number: DROP_IF_LARGE for number in (4, 5, 6, 7, 9, 10, 11)}
_ATTRIBUTE: dict[int, Any] = {5: _TENSOR, 10: _TENSOR}
_NODE: Plan = {5: _ATTRIBUTE}
_GRAPH: Plan = {1: _NODE, 5: _TENSOR, 15: {1: _TENSOR, 2: _TENSOR}}
_ATTRIBUTE.update({6: _GRAPH, 11: _GRAPH})
_MODEL: Plan = {7: _GRAPH, 25: {7: _NODE}}


def read_model(path: str | os.PathLike[str]) -> Any:
    """The ModelProto at ``path``, tensors above 64 KiB without their values. External data are not read and need not be there.

    Weights in the file are skipped, so a file may exceed protobuf's 2 GB; memory is that of the model without them.
    """
    import onnx
    from google.protobuf.message import DecodeError

    with WireFile(path) as wire:
        content, _ = wire.slim(0, wire.size, _MODEL)
    try:
        model = onnx.ModelProto.FromString(content)
    except DecodeError as error:
        raise CaptureError(f"{path}: not an ONNX model ({error})") from error
    if not model.graph.node:
        raise CaptureError(f"{path}: no nodes: expected an ONNX model")
    return model


@dataclass
class Prepared:
    """``graph``: in topological order, shapes inferred. ``places[i]``: where its node i was in the model (once functions are inlined)."""

    graph: Any
    places: list[int]


def prepared(model: Any, dims: Mapping[str, int]) -> Prepared:
    """``model``, which is changed, with functions inlined, the named dimensions set and the shapes of all tensors inferred.

    ``dims``: sizes by symbolic name (``batch``), or by place for a dimension without name (``x[0]``).
    """
    import onnx
    from onnx import inliner

    _check_names(model.graph)
    if model.functions:
        model = inliner.inline_local_functions(model)
    _set_dims(model.graph, dict(dims))
    places = sorted_nodes(model.graph)
    try:
        return Prepared(inferred(model).graph, places)
    except (onnx.shape_inference.InferenceError, ValueError, RuntimeError) as error:
        raise CaptureError(f"shape inference: {str(error).splitlines()[0]}") from error


def _check_names(graph: Any) -> None:
    """CaptureError where a name is not UTF-8: protobuf then hands out bytes."""
    for i, node in enumerate(graph.node):
        if not all(isinstance(text, str) for text in (node.name, node.op_type, node.domain, *node.input, *node.output)):
            raise CaptureError(f"node {i}: a name in it is not UTF-8")
        for body in bodies(node):
            _check_names(body)
    for what in (graph.input, graph.output, graph.initializer, graph.value_info):
        if not all(isinstance(value.name, str) for value in what):
            raise CaptureError("a name of an input, output, initializer or value is not UTF-8")


def sorted_nodes(graph: Any) -> list[int]:
    """Puts the nodes into topological order, in place, those of bodies too: shape inference wants it so. Where each was before.

    Nodes of a cycle come last, as they were. O(nodes log nodes + edges).
    """
    for node in graph.node:
        for body in bodies(node):
            sorted_nodes(body)
    producer: dict[str, int] = {}
    for i, node in enumerate(graph.node):
        for name in node.output:
            producer.setdefault(name, i)
    reads = [{producer[name] for name in (*node.input, *outer_reads(node)) if name and name in producer} for node in graph.node]
    missing = [len(sources) for sources in reads]
    readers: list[list[int]] = [[] for _ in reads]
    for i, sources in enumerate(reads):
        for source in sources:
            readers[source].append(i)
    heap = [i for i, count in enumerate(missing) if not count]
    order: list[int] = []
    while heap:
        order.append(heapq.heappop(heap))
        for reader in readers[order[-1]]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(heap, reader)
    order += [i for i, count in enumerate(missing) if count]
    if order != list(range(len(order))):
        nodes = [copy.deepcopy(graph.node[i]) for i in order]
        del graph.node[:]
        graph.node.extend(nodes)
    return order


def _set_dims(graph: Any, dims: dict[str, int]) -> None:
    unused = set(dims)
    for graph_values in (graph.input, graph.output, graph.value_info):
        for value in graph_values:
            for i, dim in enumerate(value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ()):
                name = dim.dim_param or (f"{value.name}[{i}]" if not dim.HasField("dim_value") else "")
                if name in dims:
                    dim.dim_value = dims[name]
                    unused.discard(name)
    if unused:
        raise CaptureError(f"--dim {min(unused)}: no input, output or value has a dimension of that name")
