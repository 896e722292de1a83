"""Concrete functions of ``tf.function`` as flat GraphDefs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..capture_common.errors import CaptureError
from .inline import inlined


@dataclass
class FlatFunction:
    """``graph``: a flat GraphDef, variables being VarHandleOp nodes named as the user's. ``fetches``: nodes that the call computes.

    ``captured``: bytes of tensors that the function holds on to, by node. ``calls``: calls inlined.
    """

    graph: Any
    fetches: list[str]
    captured: dict[str, int] = field(default_factory=dict)
    calls: int = 0


def flat_function(concrete: Any) -> FlatFunction:
    """The graph of a ConcreteFunction; variables and captured tensors become nodes of their own."""
    graph = concrete.graph
    definition = graph.as_graph_def()
    names, captured = _name_captures(concrete, definition)
    _rename(definition, names)
    _only_library_in_use(definition)
    flat, calls, renamed = inlined(definition)
    wanted = [t.op.name for t in graph.outputs] + [op.name for op in graph.control_outputs]
    wanted = [names.get(name, name) for name in wanted]
    targets = [tensor for t in graph.outputs for tensor in [f"{names.get(t.op.name, t.op.name)}:{t.value_index}"]]
    fetches = [renamed.get(tensor, tensor) for tensor in targets] + [renamed.get(f"^{n}", n) for n in wanted]
    fetches = [_final(name, renamed) for name in fetches]
    return FlatFunction(flat, sorted(set(fetches)), captured, calls)


def _final(name: str, renamed: dict[str, str]) -> str:
    while True:
        key = name if name.startswith("^") or ":" in name else f"{name}:0"
        if key not in renamed:
            return name.lstrip("^").split(":")[0]
        name = renamed[key]


def _name_captures(concrete: Any, definition: Any) -> tuple[dict[str, str], dict[str, int]]:
    """New names of the placeholders that stand for captures, and the bytes of captured plain tensors. Variables become VarHandleOp."""
    variables = {id(v.handle): v for v in concrete.graph.variables}
    nodes = {node.name: node for node in definition.node}
    taken = set(nodes)
    names: dict[str, str] = {}
    captured: dict[str, int] = {}
    for outer, inner in concrete.graph.captures:
        node = nodes[inner.op.name]
        variable = variables.get(id(outer))
        if variable is not None:
            node.op = "VarHandleOp"
            dtype = node.attr["dtype"].type
            node.attr.clear()
            node.attr["dtype"].type = variable.dtype.base_dtype.as_datatype_enum
            node.attr["shape"].shape.CopyFrom(variable.shape.as_proto())
            node.attr["shared_name"].s = variable.name.split(":")[0].encode()
            wanted = variable.name.split(":")[0]
            if not variable.shape.is_fully_defined():
                raise CaptureError(f"variable '{wanted}' has shape {variable.shape}; expected all of its dimensions")
            del dtype
        else:
            size = inner.dtype.size * (inner.shape.num_elements() or 0) if inner.dtype.size else 0
            captured[inner.op.name] = size
            continue
        if wanted != inner.op.name and wanted not in taken:
            names[inner.op.name] = wanted
            taken.add(wanted)
    return names, captured


def _rename(definition: Any, names: dict[str, str]) -> None:
    for node in definition.node:
        node.name = names.get(node.name, node.name)
        for i, tensor in enumerate(node.input):
            control = "^" if tensor.startswith("^") else ""
            base, separator, index = tensor.lstrip("^").partition(":")
            if base in names:
                node.input[i] = f"{control}{names[base]}{separator}{index}"
        if "_class" in node.attr:
            places = node.attr["_class"].list
            for i, place in enumerate(places.s):
                name = place.decode().removeprefix("loc:@")
                if place.startswith(b"loc:@") and name in names:
                    places.s[i] = f"loc:@{names[name]}".encode()


def _only_library_in_use(definition: Any) -> None:
    """Drops functions that no node reaches: gradients' registrations keep many."""
    library = {function.signature.name: function for function in definition.library.function}
    used: set[str] = set()
    pending = [name for node in definition.node for name in functions_of(node, library)]
    while pending:
        name = pending.pop()
        if name in library and name not in used:
            used.add(name)
            pending.extend(inner for node in library[name].node_def for inner in functions_of(node, library))
    kept = [function for function in definition.library.function if function.signature.name in used]
    del definition.library.function[:]
    definition.library.function.extend(kept)
    del definition.library.gradient[:]


def functions_of(node: Any, library: dict[str, Any]) -> list[str]:
    """Names of the functions that ``node`` runs."""
    names = [node.op] if node.op in library else []
    for value in node.attr.values():
        if value.HasField("func"):
            names.append(value.func.name)
        elif value.HasField("list"):
            names.extend(f.name for f in value.list.func)
    return names
