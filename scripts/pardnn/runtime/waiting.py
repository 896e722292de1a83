"""Outputs that wait for a node of their own: memory that a run holds and the emulated run (model.md) does not count.

A capture makes an output that lives longer than the others of its operation a node of its own, which takes no time. Such an output exists from the end of
the operation; its node may stand in the device's queue a while before it starts and takes over the memory. Between the two nothing of the model holds it.
"""

from __future__ import annotations

from ..graph import Graph
from ..torch_step.program import Program
from .schedule import Schedule


def outputs_taken_over(program: Program, graph: Graph) -> list[tuple[int, int]]:
    """Pairs (operation, node): the node has the memory of one output of the operation. O(V)."""
    found = []
    for node, call in enumerate(program.calls):
        if call is not None and call.op == "aten::alias.default" and graph.mem[node] > 0 and graph.alias[node] < 0:
            found.append((call.reads()[0].node, node))
    return found


def waiting_outputs(taken_over: list[tuple[int, int]], graph: Graph, device: list[int], schedule: Schedule) -> list[tuple[int, int, int, int]]:
    """What waits: (device, from ns, to ns, bytes)."""
    return [(device[node], int(schedule.finish[operation]), int(schedule.start[node]), int(graph.mem[node])) for operation, node in taken_over]
