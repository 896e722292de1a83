"""Nodes of a flat graph found in a profile."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..capture_common import CaptureError, Report
from .inline import Inlined
from .run_metadata import NodeProfile, Profile

_FED = re.compile(r"_arg_(.+)_\d+_\d+")


class ProfileNames:
    """What a profile tells of each node of a flat graph.

    A runtime that runs a function on its own names a body's node without the calls around it: ``matmul`` for what is ``step/matmul`` here. How
    many of the outer calls a profile leaves out is taken to be the same for all: the number with which most nodes are found. If several
    nodes answer to one entry (a function called twice), they share its time.
    """

    def __init__(self, profile: Profile | None, flat: Inlined) -> None:
        self.profile = profile
        self._entry: dict[str, str] = {}
        self._sharers: dict[str, int] = {}
        if profile is None:
            return
        left_out = self._calls_left_out(profile, flat)
        for node in flat.graph.node:
            inner = flat.inner.get(node.name, ())
            name = node.name if node.name in profile.nodes or left_out > len(inner) or left_out == 0 else inner[left_out - 1]
            if name in profile.nodes:
                self._entry[node.name] = name
                self._sharers[name] = self._sharers.get(name, 0) + 1

    @staticmethod
    def _calls_left_out(profile: Profile, flat: Inlined) -> int:
        found: dict[int, int] = {}
        for names in flat.inner.values():
            for calls, name in enumerate(names, start=1):
                found[calls] = found.get(calls, 0) + (name in profile.nodes)
        return max(found, key=lambda calls: (found[calls], -calls), default=0)

    @property
    def given(self) -> bool:
        return self.profile is not None

    def of(self, node: str) -> NodeProfile | None:
        return self.profile.nodes[self._entry[node]] if self.profile is not None and node in self._entry else None

    def sharers(self, node: str) -> int:
        """How many nodes share the time of this node's entry."""
        return self._sharers[self._entry[node]]

    def fed_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the tensors that the step was fed, by placeholder: a session logs what it feeds to ``x`` as ``_arg_x_0_0``."""
        found: dict[str, tuple[int, ...]] = {}
        for name, node in self.profile.nodes.items() if self.profile is not None else ():
            match = _FED.fullmatch(name)
            if match and 0 in node.outputs:
                found[match.group(1)] = node.outputs[0].shape
        return found

    def refuse_stranger(self, known: int) -> None:
        """CaptureError if the profile knows no node of the graph."""
        if self.profile is not None and not known:
            raise CaptureError(f"{self.profile.source}: none of its {len(self.profile.nodes)} nodes is in the graph: it is the profile of another one")

    def tell(self, names: Iterable[str], report: Report) -> None:
        """Counts what the profile covers of the step's nodes, and what it holds beside them."""
        if self.profile is None:
            return
        names = list(names)
        known = [name for name in names if name in self._entry]
        self.refuse_stranger(len(known))
        used = {self._entry[name] for name in known}
        strangers = [name for name in self.profile.nodes if name not in used]
        report.count("nodes of the profile that are not in the step (the runtime's own, or rewritten by Grappler)", strangers[0] if strangers else "",
                     len(strangers))
        shared = [name for name in known if self._sharers[self._entry[name]] > 1]
        report.count("nodes that share a profile's entry, as their function is called more than once", shared[0] if shared else "", len(shared))
        report.count("entries of copies in the profile, which belong to no node", times=self.profile.copies)
        report.note(f"the profile has {len(known)} of {len(names)} nodes ({100 * len(known) / len(names):.1f} %)")
