"""Things that belong together: union-find with halved paths, the least of a set speaks for it (Tarjan and van Leeuwen, JACM 1984)."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

T = TypeVar("T", bound=Any)  # ordered, hashable


class DisjointSets(Generic[T]):
    """Each thing is a set of its own until it is joined. ``thing in sets``: it has been asked for. Near O(1) each, over many calls."""

    def __init__(self) -> None:
        self._leader: dict[T, T] = {}

    def __contains__(self, thing: T) -> bool:
        return thing in self._leader

    def find(self, thing: T) -> T:
        """The least thing of its set."""
        leader = self._leader
        while leader.setdefault(thing, thing) != thing:
            leader[thing] = leader[leader[thing]]
            thing = leader[thing]
        return thing

    def join(self, a: T, b: T) -> None:
        """The sets of both are one."""
        low, high = sorted((self.find(a), self.find(b)))
        self._leader[high] = low

    def leaders(self) -> dict[T, T]:
        """What speaks for each thing that was asked for."""
        return {thing: self.find(thing) for thing in list(self._leader)}
