"""Which tensor is the gradient of which variable."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .flat_graph import FlatGraph, order
from .op_kinds import VARIABLES, gradient_argument
from .variables import Touches

# The scopes of tf.GradientTape and of tf.gradients.
_BACKWARD = re.compile(r"(^|/)(gradient_tape|gradients(_\d+)?)/")


def gradients(graph: FlatGraph, found: Touches, shapes: Sequence[Sequence[tuple[int, ...]]]) -> dict[int, int]:
    """Variable -> the node that puts out its gradient.

    What an update operation takes as gradient (``ApplyAdam``), or, for updates written by hand (``AssignSub``) of a variable that the backward
    pass depends on: from the value written back through tensors of the variable's shape (so not through a norm) to the one tensor of the
    backward pass, known by its scope. Where there are several, none. O(nodes + edges) beside each update's own tensors.
    """
    result: dict[int, int] = {}
    by_hand: list[tuple[int, int]] = []
    for node, variables in sorted(found.writes.items()):
        data = graph.data(node)
        position = gradient_argument(graph.ops[node])
        if 0 <= position < len(data):
            result.setdefault(variables[0], data[position][0])
        else:
            by_hand.extend((node, variable) for variable in variables)
    backward = _backward(graph)
    parameters = _needed_by(graph, backward)
    written: dict[int, list[tuple[int, int]]] = {}
    for node, variable in by_hand:
        written.setdefault(variable, []).append(graph.data(node)[-1])
    for node, variable in by_hand:
        if parameters[variable] and variable not in result:
            border = _border(graph, node, backward, written, shapes)
            if len(border) == 1:
                result[variable] = border.pop()
    return result


def _backward(graph: FlatGraph) -> bytearray:
    """Nodes of the backward pass, sums of their results among them."""
    marked = bytearray(len(graph))
    for node in order(graph.inputs, lambda _: False):
        data = graph.data(node)
        sums = graph.ops[node] == "AddN" and bool(data) and all(marked[s] for s, _ in data)
        marked[node] = sums or _BACKWARD.search(graph.names[node]) is not None
    return marked


def _needed_by(graph: FlatGraph, marked: bytearray) -> bytearray:
    """All that marked nodes read, directly or not."""
    needed = bytearray(len(graph))
    stack = [s for n in range(len(graph)) if marked[n] for s, _ in graph.data(n)]
    while stack:
        node = stack.pop()
        if not needed[node]:
            needed[node] = 1
            stack.extend(s for s, _ in graph.data(node))
    return needed


def _border(graph: FlatGraph, update: int, backward: bytearray, written: Mapping[int, Sequence[tuple[int, int]]],
            shapes: Sequence[Sequence[tuple[int, ...]]]) -> set[int]:
    """The first nodes of the backward pass on the way back from what ``update`` writes, through tensors of one shape.

    A variable that is read on the way (a momentum) leads on to what is written to it.
    """
    value = graph.data(update)[-1]
    shape = shapes[value[0]][value[1]]
    border: set[int] = set()
    seen = {value}
    stack = [value]
    while stack:
        node, _ = stack.pop()
        if backward[node]:
            border.add(node)
            continue
        sources = [s for source in graph.data(node) for s in (written.get(source[0], ()) if graph.ops[source[0]] in VARIABLES else (source,))]
        fresh = {s for s in sources if s not in seen and shapes[s[0]][s[1]] == shape}
        seen |= fresh
        stack.extend(sorted(fresh))
    return border
