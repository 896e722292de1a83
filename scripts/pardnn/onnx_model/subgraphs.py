"""Bodies of Loop, If and Scan: what they read from outside, and what they cost."""

from __future__ import annotations

from typing import Any


def bodies(node: Any) -> list[Any]:
    """The graphs among a node's attributes."""
    found = []
    for attribute in node.attribute:
        if attribute.HasField("g"):
            found.append(attribute.g)
        found.extend(attribute.graphs)
    return found


def outer_reads(node: Any) -> list[str]:
    """Names of the outer graph that the node's bodies use, in order of first use."""
    names: dict[str, None] = {}
    for body in bodies(node):
        names.update(dict.fromkeys(_free(body)))
    return list(names)


def _free(graph: Any) -> list[str]:
    """Names that a graph reads and does not define; its own nodes may come in any order."""
    defined = {v.name for v in graph.input} | {t.name for t in graph.initializer} | {o for n in graph.node for o in n.output}
    defined |= {t.values.name for t in graph.sparse_initializer}
    used = [name for node in graph.node for name in (*node.input, *outer_reads(node))] + [v.name for v in graph.output]
    return [name for name in used if name and name not in defined]


def trip_count(node: Any, constants: dict[str, int], lengths: dict[str, tuple[int, ...]]) -> int | None:
    """How often a body runs: a Loop's constant first input, the length that a Scan goes over, 1 for If; None if no one knows."""
    if node.op_type == "If":
        return 1
    if node.op_type == "Loop":
        return constants.get(node.input[0]) if node.input else None
    if node.op_type == "Scan":
        attributes = {a.name: a for a in node.attribute}
        count = attributes["num_scan_inputs"].i if "num_scan_inputs" in attributes else 0
        if not 0 < count <= len(node.input):
            return None
        axis = next(iter(attributes["scan_input_axes"].ints), 0) if "scan_input_axes" in attributes else 0
        shape = lengths.get(node.input[len(node.input) - count], ())
        return shape[axis] if -len(shape) <= axis < len(shape) else None
    return None
