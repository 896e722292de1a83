"""Shapes of all tensors of a flat GraphDef, by TensorFlow's own inference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ..capture_common.errors import CaptureError
from ..capture_common.report import Report
from ..costs import TensorSpec

# A string's header; its characters are not counted.
_STRING_BYTES = 24
UNKNOWN_DIM = -1
UNKNOWN_RANK = "tensors of unknown rank, taken as one element"


def unknown_dims(size: int | None) -> str:
    """What counts tensors whose unknown dimensions are taken as ``size``."""
    return f"tensors with unknown dimensions, each taken as {size}"


@cache
def _dtype(number: int) -> tuple[str, int]:
    """Name and bytes of an element; 0 bytes for what has no size of its own (resource, variant)."""
    from tensorflow.python.framework import dtypes

    dtype = dtypes.as_dtype(number).base_dtype
    if dtype.name == "string":
        return "string", _STRING_BYTES
    return dtype.name, 0 if dtype.name in ("resource", "variant") else dtype.size


def spec_of(shape: Sequence[int], dtype: int) -> TensorSpec:
    """A tensor of that shape and of the type with that number in DataType."""
    name, size = _dtype(dtype)
    return TensorSpec(tuple(shape), name, size)


def set_feeds(graph: Any, feeds: Mapping[str, Sequence[int]]) -> None:
    """Gives placeholders the shapes that a step feeds."""
    nodes = {node.name: node for node in graph.node} if feeds else {}
    for name, shape in feeds.items():
        node = nodes.get(name.split(":")[0])
        if node is None or node.op not in ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault"):
            raise CaptureError(f"feed '{name}': " + ("no such node" if node is None else f"is a {node.op}, expected a Placeholder"))
        dims = node.attr["shape"].shape
        dims.Clear()
        for size in shape:
            dims.dim.add().size = size
        node.attr.pop("_output_shapes", None)


def straighten_loops(graph: Any) -> None:
    """Makes one iteration of each TF1 while loop a straight line, in place: shapes pass an Identity, but no Enter and no back edge."""
    loops = {node.name for node in graph.node if node.op == "NextIteration"}
    for node in graph.node:
        if node.op in ("Enter", "Exit", "NextIteration"):
            node.op = "Identity"
            for name in [name for name in node.attr if name != "T"]:
                del node.attr[name]
        elif node.op == "Merge":
            inputs = [name for name in node.input if name.split(":")[0] not in loops]
            del node.input[:]
            node.input.extend(inputs)
            node.attr["N"].i = sum(not name.startswith("^") for name in inputs)


def inferred_shapes(graph: Any, names: Sequence[str]) -> list[list[tuple[tuple[int, ...] | None, int]]]:
    """Shape (None: unknown rank; -1: unknown dimension) and DataType of each output of each named node. O(nodes)."""
    import tensorflow as tf

    imported = tf.Graph()
    try:
        with imported.as_default():
            tf.graph_util.import_graph_def(graph, name="")
    except (ValueError, TypeError, KeyError, RuntimeError, tf.errors.OpError) as error:
        raise CaptureError(f"TensorFlow refuses the graph: {str(error).splitlines()[0]}") from error
    result = []
    for name in names:
        outputs = imported.get_operation_by_name(name).outputs
        result.append([(_dims(t.shape), t.dtype.base_dtype.as_datatype_enum) for t in outputs])
    return result


def _dims(shape: Any) -> tuple[int, ...] | None:
    return None if shape.rank is None else tuple(UNKNOWN_DIM if d is None else d for d in shape.as_list())


def known_spec(name: str, shape: tuple[int, ...] | None, dtype: int, unknown_dim: int | None, report: Report) -> TensorSpec:
    """The tensor with ``unknown_dim`` where a dimension is unknown, counted; CaptureError naming the tensor if that is None."""
    if not _dtype(dtype)[1]:
        return spec_of((), dtype)
    if shape is not None and UNKNOWN_DIM not in shape:
        return spec_of(shape, dtype)
    if unknown_dim is None:
        text = "unknown rank" if shape is None else "shape [" + ", ".join("?" if d < 0 else str(d) for d in shape) + "]"
        raise CaptureError(f"tensor '{name}' has {text}: expected --feed PLACEHOLDER=SHAPE, a profile that has it, or --unknown-dim N")
    if shape is None:
        report.count(UNKNOWN_RANK, name)
        return spec_of((), dtype)
    report.count(unknown_dims(unknown_dim), name)
    return spec_of([unknown_dim if d < 0 else d for d in shape], dtype)
