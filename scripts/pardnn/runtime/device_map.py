"""A placement rounded to modules: the ``device_map`` of Hugging Face accelerate, and what the rounding loses."""

from __future__ import annotations

from dataclasses import dataclass

from ..disjoint_sets import DisjointSets
from ..graph import Graph
from ..torch_step.program import Program
from .errors import RunError
from .modules import forward_modules, owner, prefixes, tensor_names
from .placement import Placement


@dataclass
class DeviceMap:
    """``devices``: by path of a module (or name of a tensor beside others' modules). The rest is what the map gets otherwise than the placement.

    ``split``: modules whose tensors the placement has on several devices. ``moved_bytes`` of ``bytes``: tensors that change their device;
    ``moved_calls`` of ``calls`` and ``moved_ns`` of ``ns``: operations of the forward pass that do.
    """

    devices: dict[str, int]
    split: list[str]
    moved_bytes: int
    bytes: int
    moved_calls: int
    calls: int
    moved_ns: int
    ns: int

    def lines(self) -> list[str]:
        """What is lost, for people."""
        share = lambda part, whole: f"{100 * part / whole:.1f} %" if whole else "none"
        found = [f"entries   {len(self.devices)} on {len(set(self.devices.values()))} devices",
                 f"lost      {self.moved_bytes:,} of {self.bytes:,} B of tensors are elsewhere ({share(self.moved_bytes, self.bytes)})",
                 f"lost      {self.moved_calls:,} of {self.calls:,} calls of the forward pass are elsewhere, {share(self.moved_ns, self.ns)} of their time",
                 "lost      the placement of the backward pass and of the update, and the order of all: they follow the modules"]
        if self.split:
            some = ", ".join(self.split[:5]) + (", ..." if len(self.split) > 5 else "")
            found.append(f"split     {len(self.split)} modules had tensors on several devices: {some}")
        return found


def device_map(graph: Graph, program: Program, placement: Placement) -> DeviceMap:
    """Each module goes where most bytes of its own tensors are; modules that share a tensor go together; equal neighbours become one entry."""
    tensors = tensor_names(program)
    if not tensors:
        raise RunError(f"graph '{graph.name}' has no parameters: there is nothing to map")
    device, size = placement.device.tolist(), graph.mem.tolist()
    group = _tied(tensors)
    votes: dict[str, dict[int, int]] = {}
    counted: set[tuple[str, int]] = set()
    for name, node in tensors.items():
        key = (group[owner(name)], node)
        if key not in counted:
            counted.add(key)
            here = votes.setdefault(key[0], {})
            here[device[node]] = here.get(device[node], 0) + size[node]
    chosen = {g: min(v, key=lambda d: (-v[d], d)) for g, v in votes.items()}
    modules = {owner(name): chosen[group[owner(name)]] for name in tensors}
    moved = {node for name, node in tensors.items() if device[node] != modules[owner(name)]}
    calls = forward_modules(program, graph)
    elsewhere = [n for n, path in calls.items() if (d := _nearest(modules, path)) is not None and d != device[n]]
    homes: dict[str, set[int]] = {}
    for name, node in tensors.items():
        homes.setdefault(owner(name), set()).add(device[node])
    return DeviceMap(
        devices=_merged(modules, list(tensors)), split=[m for m, ds in homes.items() if len(ds) > 1], moved_bytes=sum(size[n] for n in moved),
        bytes=sum(size[n] for n in set(tensors.values())), moved_calls=len(elsewhere), calls=len(calls),
        moved_ns=int(graph.comp[elsewhere].sum()), ns=int(graph.comp[list(calls)].sum()))


def _tied(tensors: dict[str, int]) -> dict[str, str]:
    """For each module one that stands for all that share tensors with it."""
    sets: DisjointSets[str] = DisjointSets()
    first: dict[int, str] = {}
    for name, node in tensors.items():
        sets.join(first.setdefault(node, owner(name)), owner(name))
    return sets.leaders()


def _nearest(modules: dict[str, int], path: str) -> int | None:
    """Device of the innermost module around ``path`` that has one, or of the first inside it."""
    return next((modules[p] for p in prefixes(path) if p in modules), None)


def _merged(modules: dict[str, int], names: list[str]) -> dict[str, int]:
    """The fewest entries: a module whose whole inside is on one device is one; tensors of a module with others inside elsewhere are by name."""
    inside: dict[str, set[int]] = {}
    for module, d in modules.items():
        for p in prefixes(module):
            inside.setdefault(p, set()).add(d)
    found: dict[str, int] = {}
    for name in names:
        whole = [p for p in prefixes(owner(name)) if len(inside[p]) == 1]
        found[whole[-1] if whole else name] = modules[owner(name)]
    return found
