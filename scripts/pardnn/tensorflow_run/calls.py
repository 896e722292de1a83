"""Calls of functions laid flat as the capture laid them, so that each node of a body has a device; the calls' names stay for fetches."""

from __future__ import annotations

from typing import Any

from ..capture_common import Report
from ..tensorflow_step.inline import Inlined, followed, inlined

CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})


def has_calls(definition: Any) -> bool:
    functions = {function.signature.name for function in definition.library.function}
    return any(node.op in CALLS or node.op in functions for node in definition.node)


def laid_flat(definition: Any, report: Report) -> Any:
    """``definition`` without calls: bodies stand in their place, and under a call's own name is a node that gives what the call gave.

    Functions in the library (bodies of If and While) stay as they are. O(nodes of the flat graph).
    """
    flat = inlined(definition)
    report.count("calls of functions laid flat, as the capture did", times=flat.calls)
    outputs = {f.signature.name: [a.type for a in f.signature.output_arg] for f in definition.library.function}
    for node in definition.node:
        name = node.attr["f"].func.name if node.op in CALLS else node.op
        if name in outputs:
            types = list(node.attr["Tout"].list.type) if "Tout" in node.attr else outputs[name]
            _stand_in(flat, node, types)
    return flat.graph


def _stand_in(flat: Inlined, call: Any, types: list[int]) -> None:
    """Adds a node with the call's name and outputs, which waits for all that the call did."""
    node = flat.graph.node.add()
    node.name, node.op = call.name, "IdentityN" if types else "NoOp"
    node.input.extend(followed(f"{call.name}:{i}", flat.renamed) for i in range(len(types)))
    node.input.append(followed(f"^{call.name}", flat.renamed))
    if types:
        node.attr["T"].list.type.extend(types)
