"""Calls of functions replaced by their bodies, so that a graph is flat. Nothing is folded, fused or reordered.

A body's node keeps its name behind the call's: ``call/inner``, as TensorFlow's own inliner names it and its profiles show it. Control
edges into a call reach the nodes of its body that would else start at once (through a NoOp); control edges out of it wait for the body's
control returns and its results (through another). Functional control flow (If, While, Case) is no call and stays one node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..capture_common.errors import CaptureError

_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
_DEPTH_LIMIT = 200


@dataclass
class Inlined:
    """``graph``: the flat GraphDef (with the library, for If and While). ``calls``: how many calls were inlined.

    ``renamed``: from a call's tensor (``call:0``) or control (``^call``) to what stands for it. ``inner``: for a node of a body, its names
    as seen from the functions around it, the outer ones first.
    """

    graph: Any
    calls: int
    renamed: dict[str, str]
    inner: dict[str, list[str]]


def inlined(graph: Any) -> Inlined:
    """``graph`` without calls. O(nodes of the flat graph)."""
    library = {function.signature.name: function for function in graph.library.function}
    flat = type(graph)()
    flat.versions.CopyFrom(graph.versions)
    flat.library.CopyFrom(graph.library)
    inliner = _Inliner(library)
    inner: dict[str, list[str]] = {}
    stack: list[tuple[Any, tuple[tuple[str, str], ...]]] = [(node, ()) for node in reversed(graph.node)]
    while stack:
        node, callers = stack.pop()
        called = _called(node, library)
        if called is None:
            flat.node.append(node)
            if callers:
                inner[node.name] = [node.name[len(prefix):] for _, prefix in callers]
            continue
        if called not in library:
            raise CaptureError(f"node '{node.name}' calls function '{called}', which the graph's library lacks")
        if any(called == name for name, _ in callers) or len(callers) >= _DEPTH_LIMIT:
            raise CaptureError(f"node '{node.name}': function '{called}' calls itself; recursion can't be laid flat")
        within = (*callers, (called, f"{node.name}/"))
        stack.extend((body, within) for body in reversed(inliner.body(node, library[called])))
    for node in flat.node:
        for i, name in enumerate(node.input):
            node.input[i] = followed(name, inliner.renamed)
    return Inlined(flat, inliner.calls, inliner.renamed, inner)


def followed(name: str, renamed: dict[str, str]) -> str:
    """What stands for a tensor or control after all inlining; chains of calls are followed."""
    for _ in range(10 * _DEPTH_LIMIT):
        key = name if name.startswith("^") or ":" in name else f"{name}:0"
        if key not in renamed:
            return name
        name = renamed[key]
    raise CaptureError(f"input '{name}': calls feed themselves without end")


def _called(node: Any, library: dict[str, Any]) -> str | None:
    if node.op in _CALLS:
        return node.attr["f"].func.name
    if node.op in library:
        return node.op
    if node.op in ("RemoteCall", "SymbolicGradient"):
        raise CaptureError(f"node '{node.name}': {node.op} can't be laid flat; expected ordinary calls")
    return None


class _Inliner:
    def __init__(self, library: dict[str, Any]) -> None:
        self._library = library
        self._flat_bodies: dict[str, tuple[Any, dict[str, str]]] = {}
        self.renamed: dict[str, str] = {}
        self.calls = 0

    def body(self, call: Any, function: Any) -> list[Any]:
        """The nodes that stand for ``call``; records what stands for its outputs."""
        self.calls += 1
        nodes, flat_names = self._flat_body(function)
        data = [i for i in call.input if not i.startswith("^")]
        controls = [i for i in call.input if i.startswith("^")]
        arguments = {argument.name: data[i] for i, argument in enumerate(function.signature.input_arg)} \
            if len(data) == len(function.signature.input_arg) else None
        if arguments is None:
            raise CaptureError(f"node '{call.name}': function '{function.signature.name}' takes {len(function.signature.input_arg)} arguments, not {len(data)}")
        prefix = f"{call.name}/"
        result = [_copy(node, prefix, arguments) for node in nodes]
        if controls:
            gate = _no_op(call, f"{prefix}input_control", controls)
            for node in result:
                if not node.input:
                    node.input.append(f"^{gate.name}")
            result.insert(0, gate)
        returns = [_renamed(_known(flat_names, function.ret[output.name], function, f"result '{output.name}' is"), prefix, arguments)
                   for output in function.signature.output_arg]
        waits = [f"^{prefix}{name}" for name in function.control_ret.values()] + [f"^{_node_of(r)}" for r in returns]
        exit_ = _no_op(call, f"{prefix}output_control", list(dict.fromkeys(waits)) or controls)
        result.append(exit_)
        self.renamed.update({f"{call.name}:{i}": tensor for i, tensor in enumerate(returns)})
        self.renamed[f"^{call.name}"] = f"^{exit_.name}"
        return result

    def _flat_body(self, function: Any) -> tuple[list[Any], dict[str, str]]:
        """The body's nodes without its arguments, inputs named as in a GraphDef; and names of results. Made once for each function."""
        name = function.signature.name
        if name not in self._flat_bodies:
            flat: dict[str, str] = {argument.name: f"{argument.name}:0" for argument in function.signature.input_arg}
            for node in function.node_def:
                flat.update(self._outputs(node))
            nodes = []
            for node in function.node_def:
                copy = type(node)()
                copy.CopyFrom(node)
                for i, tensor in enumerate(copy.input):
                    copy.input[i] = tensor if tensor.startswith("^") else _known(flat, tensor, function, f"node '{node.name}' reads")
                nodes.append(copy)
            self._flat_bodies[name] = nodes, flat
        return self._flat_bodies[name]

    def _outputs(self, node: Any) -> dict[str, str]:
        """``node:argument:index`` of a function's body -> ``node:position``."""
        from tensorflow.python.framework import op_def_registry

        definition = self._library[node.op].signature if node.op in self._library else op_def_registry.get(node.op)
        if definition is None:
            raise CaptureError(f"node '{node.name}': operation '{node.op}' is unknown to this TensorFlow")
        names: dict[str, str] = {}
        position = 0
        for output in definition.output_arg:
            for index in range(_length(node, output)):
                names[f"{node.name}:{output.name}:{index}"] = f"{node.name}:{position}"
                position += 1
        return names


def _known(names: dict[str, str], tensor: str, function: Any, what: str) -> str:
    if tensor not in names:
        raise CaptureError(f"function '{function.signature.name}': {what} '{tensor}', which nothing in it gives")
    return names[tensor]


def _length(node: Any, output: Any) -> int:
    if output.number_attr:
        return node.attr[output.number_attr].i
    return len(node.attr[output.type_list_attr].list.type) if output.type_list_attr else 1


def _node_of(tensor: str) -> str:
    return tensor.lstrip("^").split(":")[0]


def _renamed(tensor: str, prefix: str, arguments: dict[str, str]) -> str:
    """A body's tensor or control seen from the caller."""
    node = _node_of(tensor)
    if node in arguments:
        return f"^{_node_of(arguments[node])}" if tensor.startswith("^") else arguments[node]
    return f"^{prefix}{tensor[1:]}" if tensor.startswith("^") else prefix + tensor


def _copy(node: Any, prefix: str, arguments: dict[str, str]) -> Any:
    copy = type(node)()
    copy.CopyFrom(node)
    copy.name = prefix + node.name
    del copy.input[:]
    copy.input.extend(_renamed(tensor, prefix, arguments) for tensor in node.input)
    if "_class" in copy.attr:
        places = copy.attr["_class"].list
        for i, place in enumerate(places.s):
            if place.startswith(b"loc:@"):
                name = place[5:].decode(errors="replace")
                places.s[i] = f"loc:@{_node_of(arguments[name]) if name in arguments else prefix + name}".encode()
    return copy


def _no_op(call: Any, name: str, controls: list[str]) -> Any:
    node = type(call)()
    node.name, node.op, node.device = name, "NoOp", call.device
    node.input.extend(controls)
    return node
