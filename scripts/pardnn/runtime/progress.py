"""What a rank does, for the others to tell: in which step and at which node it is, and for whom it waits."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

ALL = -1  # waits for all other ranks


@dataclass(frozen=True)
class State:
    """``step``: None before the first; ``node``: a name, or "". ``waits``: for which rank, ALL, or None. ``still``: seconds since it last moved on."""

    step: int | None
    node: str
    doing: str
    waits: int | None
    still: float

    def words(self) -> str:
        place = "before its first step" if self.step is None else f"in step {self.step}"
        node = f" at node '{self.node}'" if self.node else f", {self.doing}"
        waiting = {None: "", ALL: ", waiting for all others"}.get(self.waits, f", waiting for rank {self.waits}")
        return f"{place}{node}{waiting}"

    def fields(self) -> dict[str, object]:
        return asdict(self)


class Progress:
    """Written by the main thread alone, an assignment each time; read by the heartbeat's thread. ``names``: of the nodes."""

    __slots__ = ("_moved", "_seen", "doing", "names", "node", "step", "waits")

    def __init__(self) -> None:
        self.step: int | None = None
        self.node = -1
        self.doing = "beginning"
        self.waits: int | None = None
        self.names: Sequence[str] = ()
        self._seen: tuple[object, ...] = ()
        self._moved = time.monotonic()

    def does(self, what: str, waits: int | None = None) -> None:
        """Something else than running nodes."""
        self.node, self.doing, self.waits = -1, what, waits

    def state(self) -> State:
        """For one thread, which asks often."""
        seen = (self.step, self.node, self.doing, self.waits)
        now = time.monotonic()
        if seen != self._seen:
            self._seen, self._moved = seen, now
        step, node, doing, waits = self.step, self.node, self.doing, self.waits
        return State(step, self.names[node] if 0 <= node < len(self.names) else "", doing, waits, now - self._moved)
