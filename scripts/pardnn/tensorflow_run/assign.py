"""A device for each node of a GraphDef: the placement's for what the capture kept, and one beside its neighbours for the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..capture_common import Report
from ..graph import Graph, Int64
from ..tensorflow_step.flat_graph import FlatGraph, order, parse
from .errors import PlaceError
from .shared_devices import Groups

_UNDECIDED = -1
_MOVED = frozenset({"Enter", "Exit", "NextIteration", "Switch"})


@dataclass
class Assignment:
    """Of each node of the GraphDef: ``device``, its index; ``leader``, the first node of those that TensorFlow keeps on one device with it."""

    device: list[int]
    leader: list[int]


def assign(definition: Any, graph: Graph, device: Int64, report: Report) -> Assignment:
    """Devices of the nodes of a flat GraphDef. O(nodes + edges).

    Nodes of ``graph`` are where ``device`` has them. What the capture left out is put, in this order: with its group (initialisers, savers'
    assignments with their variable), with the first of its readers, with the first of what it reads, on device 0. Raises PlaceError where
    the two graphs differ or a group is on two devices.
    """
    flat = parse(definition)
    groups = Groups(flat)
    given = _given(flat, graph, device)
    chosen = _of_groups(flat, groups.leader, given)
    left_out = [n for n in range(len(flat)) if given[n] == _UNDECIDED]
    report.count("nodes placed by the placement", times=len(flat) - len(left_out))
    neighbours = _Neighbours(flat, groups.leader, chosen)
    for said, decide in (("on the device of their group, a variable as a rule", lambda: None),
                         ("on the device of their first reader", neighbours.with_readers),
                         ("on the device of what they read", neighbours.with_inputs),
                         ("without a neighbour that has a device, on device 0", neighbours.on_first)):
        decide()
        decided = [n for n in left_out if chosen[groups.leader[n]] != _UNDECIDED]
        left_out = [n for n in left_out if chosen[groups.leader[n]] == _UNDECIDED]
        report.count(f"nodes that the capture left out, {said}", flat.names[decided[0]] if decided else "", len(decided))
    report.count("nodes whose operation this TensorFlow does not know: what they refer to is not followed",
                 groups.unknown[0] if groups.unknown else "", len(groups.unknown))
    loops = [n for n, op in enumerate(flat.ops) if op in _MOVED]
    report.count("nodes of control flow (Enter, Switch, NextIteration, Exit), which TensorFlow itself runs beside what they read or what reads them",
                 flat.names[loops[0]] if loops else "", len(loops))
    return Assignment([chosen[leader] for leader in groups.leader], groups.leader)


def _given(flat: FlatGraph, graph: Graph, device: Int64) -> list[int]:
    """The placement's device of each node of the GraphDef, or undecided."""
    index = {name: n for n, name in enumerate(flat.names)}
    given = [_UNDECIDED] * len(flat)
    for n, (name, chosen) in enumerate(zip(graph.names, device.tolist())):
        place = index.get(name)
        if place is None:
            raise PlaceError(f"node '{name}' of the graph is not in the GraphDef: expected the GraphDef that was captured")
        if graph.op_name(n) != flat.ops[place]:
            raise PlaceError(f"node '{name}' is {graph.op_name(n)} in the graph and {flat.ops[place]} in the GraphDef: "
                             "expected the GraphDef that was captured")
        given[place] = chosen
    return given


def _of_groups(flat: FlatGraph, leader: list[int], given: list[int]) -> list[int]:
    """The device of each group, at its leader; undecided where none of its nodes has one."""
    chosen = [_UNDECIDED] * len(flat)
    first: dict[int, int] = {}
    for n, device in enumerate(given):
        if device == _UNDECIDED:
            continue
        group = leader[n]
        if chosen[group] not in (_UNDECIDED, device):
            raise PlaceError(f"nodes '{flat.names[first[group]]}' and '{flat.names[n]}' are on devices {chosen[group]} and {device}, "
                             "but TensorFlow keeps them on one (a _class, a reference or a resource ties them); "
                             "capture with all --fetch names whose nodes the GraphDef holds")
        chosen[group] = device
        first.setdefault(group, n)
    return chosen


class _Neighbours:
    """Decides groups by what is next to them."""

    def __init__(self, flat: FlatGraph, leader: list[int], chosen: list[int]) -> None:
        self.flat, self.leader, self.chosen = flat, leader, chosen
        sequence = order(flat.inputs, lambda _: False)
        if len(sequence) < len(flat):  # loops
            seen = set(sequence)
            sequence += [n for n in range(len(flat)) if n not in seen]
        self.sequence = sequence

    def with_readers(self) -> None:
        """Readers first, so that chains of initial values follow the variable at their end."""
        for n in reversed(self.sequence):
            device = self.chosen[self.leader[n]]
            for source, _ in self.flat.data(n) if device != _UNDECIDED else ():
                if self.chosen[self.leader[source]] == _UNDECIDED:
                    self.chosen[self.leader[source]] = device

    def with_inputs(self) -> None:
        for n in self.sequence:
            group = self.leader[n]
            if self.chosen[group] == _UNDECIDED:
                devices = (self.chosen[self.leader[source]] for source, _ in self.flat.data(n))
                self.chosen[group] = next((d for d in devices if d != _UNDECIDED), _UNDECIDED)

    def on_first(self) -> None:
        for n in self.sequence:
            if self.chosen[self.leader[n]] == _UNDECIDED:
                self.chosen[self.leader[n]] = 0
