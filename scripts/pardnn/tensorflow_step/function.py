"""Concrete functions of ``tf.function`` as flat GraphDefs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .inline import Inlined, followed, inlined


@dataclass
class FlatFunction:
    """``flat``: the graph, variables being VarHandleOp nodes named as the user's. ``fetches``: nodes that the call computes.

    ``captured``: bytes of tensors that the function holds on to, by node.
    """

    flat: Inlined
    fetches: list[str]
    captured: dict[str, int] = field(default_factory=dict)


def flat_function(concrete: Any) -> FlatFunction:
    """The graph of a ConcreteFunction; variables and captured tensors become nodes of their own."""
    graph = concrete.graph
    definition = graph.as_graph_def(add_shapes=True)  # what the user's code sets beside what can be inferred
    names, captured = _name_captures(concrete, definition)
    _rename(definition, names)
    _only_library_in_use(definition)
    flat = inlined(definition)
    own_name = lambda op: names.get(op.name, op.name)  # noqa: E731
    wanted = [f"{own_name(t.op)}:{t.value_index}" for t in graph.outputs] + [f"^{own_name(op)}" for op in graph.control_outputs]
    return FlatFunction(flat, sorted({followed(name, flat.renamed).lstrip("^").split(":")[0] for name in wanted}), captured)


def _name_captures(concrete: Any, definition: Any) -> tuple[dict[str, str], dict[str, int]]:
    """New names of the placeholders that stand for captures, and the bytes of captured plain tensors. Variables become VarHandleOp."""
    variables = {id(v.handle): v.name.split(":")[0] for v in concrete.graph.variables}
    nodes = {node.name: node for node in definition.node}
    taken = set(nodes)
    names: dict[str, str] = {}
    captured: dict[str, int] = {}
    for outer, inner in concrete.graph.captures:
        node = nodes[inner.op.name]
        if not _made_variable(node, inner):
            captured[node.name] = inner.dtype.size * (inner.shape.num_elements() or 0) if inner.dtype.size and inner.dtype.name != "resource" else 0
            continue
        wanted = variables.get(id(outer), node.name)
        if wanted not in taken:
            names[node.name] = wanted
            taken.add(wanted)
    return names, captured


def _made_variable(node: Any, handle: Any) -> bool:
    """Turns the placeholder of a variable's handle into a VarHandleOp, and says if it was one."""
    from tensorflow.python.ops import handle_data_util

    data = handle_data_util.get_resource_handle_data(handle) if handle.dtype.name == "resource" else None
    if data is None or not data.is_set or len(data.shape_and_type) != 1:
        return False
    node.op = "VarHandleOp"
    node.attr.clear()
    node.attr["dtype"].type = data.shape_and_type[0].dtype
    node.attr["shape"].shape.CopyFrom(data.shape_and_type[0].shape)
    return True


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
                name = place.decode(errors="replace").removeprefix("loc:@")
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
