"""Operations that write their result over an input, as TensorFlow's kernels do where nothing else holds that input.

At run time a kernel forwards an input whose buffer has no other reference. That is certain, whatever the order, where the input and all that it is
a view of have one reader each; only then is the result taken as an alias here, so it shares the input's device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .flat_graph import FlatGraph, order
from .op_kinds import IN_PLACE

_HELD = frozenset({"Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "_Arg"})


def in_place_sources(graph: FlatGraph, alias: Sequence[int], sizes: Sequence[Sequence[int]], owns: Callable[[int], bool],
                     kept: frozenset[int]) -> dict[int, int]:
    """For each node that surely works in place: the input that it overwrites.

    ``sizes[n]``: bytes of n's outputs. ``owns(n)``: n allocates its output (it is no variable, no constant, no update). ``kept``: nodes whose
    results leave the step. O(nodes + edges) beside the topological order.
    """
    readers = [0] * len(graph)
    for node in range(len(graph)):
        for source, _ in graph.data(node):
            readers[source] += 1
    for node in kept:
        readers[node] += 1
    found: dict[int, int] = {}
    # free[n]: the buffer of n's only output is read by one node alone.
    free = [False] * len(graph)
    for node in order(graph.inputs, lambda _: False):
        if not owns(node) or graph.ops[node] in _HELD or len(sizes[node]) != 1:
            continue
        if graph.ops[node] in IN_PLACE:
            found.update((node, s) for s, o in reversed(graph.data(node)) if o == 0 and free[s] and sizes[s] == sizes[node])
        free[node] = readers[node] == 1 and (alias[node] < 0 or free[alias[node]])
    return found
