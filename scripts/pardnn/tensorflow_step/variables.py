"""Which nodes touch which variable, and the edges that keep their order.

TensorFlow's control edges order reads and writes of a variable themselves; what they leave open is how long a read's value is in use. A
resource variable's read shares its buffer, and an update that finds the buffer shared makes a copy (copy on write), so the users of an old
value need not come before the update. Here a read is an alias, so they must: edges are added from each user of a read to the next update.
All added edges agree with one topological order in which updates come as late as they can, so they close no cycle. A user that
comes after the update all the same keeps its own copy of the value, as in TensorFlow: the read is then no alias, and counted.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from .flat_graph import CONTROL, FlatGraph, order
from .op_kinds import ALIASES, REF_VARIABLES, VARIABLES, mutates_ref, mutates_resource, ref_inputs


@dataclass
class Touches:
    """``origin[n]``: the variable that n's output refers to by reference or handle, or -1. ``reads``, ``writes``: variables by node."""

    origin: list[int]
    reads: dict[int, list[int]] = field(default_factory=dict)
    writes: dict[int, list[int]] = field(default_factory=dict)


@dataclass
class VariableOrder:
    """``edges``: to add. ``copies``: reads that aren't aliases, since their value is used after an update."""

    edges: list[tuple[int, int]]
    copies: set[int]


def touches(graph: FlatGraph) -> Touches:
    """Follows references and handles from variables through what forwards them. O(nodes + edges)."""
    found = Touches([-1] * len(graph))
    for node in order(graph.inputs, lambda _: False):
        op = graph.ops[node]
        if op in VARIABLES:
            found.origin[node] = node
            continue
        data = graph.data(node)
        for position, (source, _) in enumerate(data):
            variable = found.origin[source]
            if variable < 0:
                continue
            handle = graph.ops[variable] not in REF_VARIABLES
            written = mutates_resource(op) and not _reads_alone(graph, node, position) if handle else mutates_ref(op) and position < ref_inputs(op)
            (found.writes if written else found.reads).setdefault(node, []).append(variable)
        if data and found.origin[data[0][0]] >= 0 and _forwards(graph, node, found.origin[data[0][0]]):
            found.origin[node] = found.origin[data[0][0]]
    return found


def _reads_alone(graph: FlatGraph, node: int, position: int) -> bool:
    """True if a node that runs functions is marked to only read its input ``position``."""
    attributes = graph.nodes[node].attr
    name = "_read_only_resource_inputs"
    return name in attributes and position in attributes[name].list.i


def _forwards(graph: FlatGraph, node: int, variable: int) -> bool:
    """True if the node's output is a reference or handle of the variable, not a value."""
    op = graph.ops[node]
    if graph.ops[variable] in REF_VARIABLES:
        return mutates_ref(op) or (op.startswith("Ref") and op in ALIASES)
    return op in ALIASES and op != "ReadVariableOp"


def alias_sources(graph: FlatGraph) -> list[int]:
    """For each node that forwards its first input, that input's node; else -1."""
    result = []
    for node, op in enumerate(graph.ops):
        data = graph.data(node) if op in ALIASES else []
        result.append(data[0][0] if data else -1)
    return result


def variable_order(graph: FlatGraph, found: Touches, alias: list[int]) -> VariableOrder:
    """The edges that order each variable's users against its updates. O(nodes + edges) beside the topological order."""
    sequence = order(graph.inputs, lambda n: n in found.writes)
    at = {node: i for i, node in enumerate(sequence)}
    read_at = _positions_of_reads(graph, found, alias, at)
    users: dict[int, list[tuple[int, int, int]]] = {}  # variable -> (position of the read, position of the user, user)
    for node in sequence:
        for variable in found.reads.get(node, ()):
            users.setdefault(variable, []).append((at[node], at[node], node))
        for source, output in graph.inputs[node]:
            if output != CONTROL and source in read_at:
                variable, read = read_at[source]
                if node not in found.writes or variable not in found.writes[node]:
                    users.setdefault(variable, []).append((read, at[node], node))
    writers: dict[int, list[int]] = {}
    for node in sequence:
        for variable in dict.fromkeys(found.writes.get(node, ())):
            writers.setdefault(variable, []).append(node)
    present = {(s, n) for n in range(len(graph)) for s, _ in graph.inputs[n]}
    result = VariableOrder([], set())
    for variable, updates in writers.items():
        _order_one(graph, found, variable, updates, users.get(variable, []), at, sequence, result)
    result.edges = sorted({edge for edge in result.edges if edge[0] != edge[1]} - present)
    return result


def _positions_of_reads(graph: FlatGraph, found: Touches, alias: list[int], at: dict[int, int]) -> dict[int, tuple[int, int]]:
    """For each node whose output is a variable's value by alias: the variable and when it was read."""
    result: dict[int, tuple[int, int]] = {}
    for node in sorted(at, key=lambda n: at[n]):
        source = alias[node]
        if source < 0 or found.origin[node] >= 0:
            continue
        if found.origin[source] >= 0:
            result[node] = found.origin[source], at[node]
        elif source in result:
            result[node] = result[source]
    return result


def _order_one(graph: FlatGraph, found: Touches, variable: int, updates: list[int], users: list[tuple[int, int, int]], at: dict[int, int],
               sequence: list[int], result: VariableOrder) -> None:
    by_reference = graph.ops[variable] in REF_VARIABLES
    places = [at[u] for u in updates]
    for read, used, user in sorted(users):
        # By reference a user sees the value of its own time; through a handle that of the read's.
        when = used if by_reference else read
        following = bisect_right(places, when)
        if following < len(places):
            if used < places[following]:
                result.edges.append((user, updates[following]))
            else:
                result.copies.add(sequence[read])
        if following > 0 and user in found.reads and variable in found.reads[user]:
            result.edges.append((updates[following - 1], user))
    result.edges.extend(zip(updates, updates[1:]))
