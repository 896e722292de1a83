"""Shapes that hang on computed values: the small integer arithmetic of exporters (Shape, Gather, Slice, Concat) is evaluated.

ONNX's own inference follows some of it alone. Here a node whose inputs are all known is run, its value stands in for it, and shapes are
inferred again, until nothing new is known. The graph itself keeps its nodes.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

# Values of more elements are no shapes.
_SMALL = 256
_ROUNDS = 50
_FOLDED = frozenset("""Add And Cast Ceil Concat ConstantOfShape Div Equal Expand Flatten Floor Gather Greater Identity Less Max Min Mod Mul Neg Not Or
    Range ReduceMax ReduceMin ReduceProd ReduceSum Reshape ScatterND Size Slice Split Sqrt Squeeze Sub Tile Transpose Unsqueeze Where""".split())


def inferred(model: Any) -> Any:
    """``model`` with shapes inferred, computed ones too; its nodes stay. ``model`` is in topological order."""
    from onnx import shape_inference

    def infer(message: Any) -> Any:
        return shape_inference.infer_shapes(message, strict_mode=False, data_prop=True)

    first = infer(model)
    shapes = _shapes(first.graph)
    if all(name in shapes for node in first.graph.node for name in node.output if name):
        return first
    scratch = copy.deepcopy(first)
    known = _held(scratch.graph)
    for _ in range(_ROUNDS):
        before = len(known)
        _evaluate(scratch, known, _shapes(scratch.graph))
        if len(known) == before:
            break
        scratch = infer(scratch)
    known_types = {v.name: v for v in scratch.graph.value_info}
    del first.graph.value_info[:]
    first.graph.value_info.extend(known_types.values())
    return infer(first)


def _shapes(graph: Any) -> dict[str, tuple[int, ...]]:
    """Shapes that are known in full, by tensor."""
    found = {t.name: tuple(t.dims) for t in graph.initializer}
    for value in (*graph.input, *graph.output, *graph.value_info):
        kind = value.type.tensor_type
        if value.type.WhichOneof("value") == "tensor_type" and kind.HasField("shape") and all(d.HasField("dim_value") for d in kind.shape.dim):
            found[value.name] = tuple(d.dim_value for d in kind.shape.dim)
    return found


def _held(graph: Any) -> dict[str, np.ndarray]:
    """Small constants that are in the file."""
    from onnx import TensorProto, numpy_helper

    tensors = [(t.name, t) for t in graph.initializer]
    tensors += [(n.output[0], a.t) for n in graph.node if n.op_type == "Constant" for a in n.attribute if a.name == "value"]
    known = {}
    for name, tensor in tensors:
        if int(np.prod(tensor.dims)) <= _SMALL and tensor.data_location != TensorProto.EXTERNAL:
            try:
                known[name] = numpy_helper.to_array(tensor)
            except (ValueError, TypeError, KeyError):
                continue  # not what it says it is: its readers stay unknown
    return known


def _evaluate(model: Any, known: dict[str, np.ndarray], shapes: dict[str, tuple[int, ...]]) -> None:
    """Replaces nodes that can be evaluated now by constants, in place, and adds their values to ``known``."""
    from onnx import helper, numpy_helper

    for i, node in enumerate(model.graph.node):
        if node.op_type == "Constant" or all(name in known for name in node.output if name):
            continue
        values = _run(model, node, known, shapes)
        if values is None:
            continue
        known.update(zip(node.output, values))
        if len(node.output) == 1:
            name, label = node.output[0], node.name
            model.graph.node[i].CopyFrom(helper.make_node("Constant", [], [name], label, value=numpy_helper.from_array(values[0])))


def _run(model: Any, node: Any, known: dict[str, np.ndarray], shapes: dict[str, tuple[int, ...]]) -> list[np.ndarray] | None:
    if node.op_type == "Shape" and node.input and node.input[0] in shapes and node.domain in ("", "ai.onnx"):
        bounds = {a.name: a.i for a in node.attribute}
        shape = shapes[node.input[0]]
        return [np.array(shape[bounds.get("start", 0):bounds.get("end", len(shape))], dtype=np.int64)]
    if node.op_type not in _FOLDED or node.domain not in ("", "ai.onnx") or not all(name in known for name in node.input if name):
        return None
    if sum(known[name].size for name in node.input if name) > 4 * _SMALL:
        return None
    return _reference(model, node, known)


def _reference(model: Any, node: Any, known: dict[str, np.ndarray]) -> list[np.ndarray] | None:
    from onnx import helper
    from onnx.reference import ReferenceEvaluator

    if node.op_type in ("ConstantOfShape", "Expand", "Range", "Tile") and _made(node, known) > _SMALL:
        return None
    read = [name for name in dict.fromkeys(node.input) if name]
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(known[n].dtype), known[n].shape) for n in read]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    try:
        single = helper.make_model(helper.make_graph([node], "one", inputs, outputs), opset_imports=model.opset_import)
        values = ReferenceEvaluator(single).run(None, {name: known[name] for name in read})
    except Exception:  # the reference refuses in many ways; the node then stays unknown
        return None
    return [np.asarray(v) for v in values] if all(np.asarray(v).size <= _SMALL for v in values) else None


def _made(node: Any, known: dict[str, np.ndarray]) -> float:
    """Elements that the node would put out, before it does."""
    values = [known[name].astype(float) for name in node.input if name]
    if node.op_type == "Range":
        start, stop, step = (float(v.reshape(-1)[0]) for v in values)
        return abs((stop - start) / step) if step else float("inf")
    if node.op_type == "Tile":
        return float(values[0].size * np.prod(values[1]))
    return float(np.prod(values[-1])) * (values[0].size if node.op_type == "Expand" else 1)
