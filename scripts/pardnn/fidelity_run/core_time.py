"""Step times without what other work on the host adds, from the cores' time that each rank used between its messages.

A rank notes the clock of its process (cores' time, all its threads) when it has handed over a message and around each wait for one. Replayed, a wait
ends when the message can be there: after its sender handed it over in the same reckoning, and the link's own time. On a quiet host with a core for
each rank this is the step's time by the wall; on a busy one the wall shows the others' work too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch

from ..runtime.channels import GroupChannels
from ..runtime.plan import Transfer

SEND, WAIT, END = 0, 1, 2
Event = tuple[int, int, int, int, float, float]  # kind, other rank, tag, bytes, clock before and after, s


class NotedChannels(GroupChannels):
    """The runtime's channels with a note of each message; ``events`` are those of the step since :meth:`begin`."""

    def begin(self) -> None:
        self.events: list[Event] = []
        self._begun = time.process_time()

    def end(self) -> None:
        """The step is over."""
        now = self._now()
        self.events.append((END, 0, 0, 0, now, now))

    def send(self, transfer: Transfer, flat: torch.Tensor | None) -> None:
        before = self._now()
        super().send(transfer, flat)
        self.events.append((SEND, transfer.target, transfer.tag, transfer.bytes, before, self._now()))

    def wait(self, transfer: Transfer) -> None:
        before = self._now()
        super().wait(transfer)
        self.events.append((WAIT, transfer.source, transfer.tag, transfer.bytes, before, self._now()))

    def _now(self) -> float:
        return time.process_time() - self._begun


def replayed(ranks: Sequence[Sequence[Event]], link: Callable[[int, int, int], float]) -> float:
    """Seconds until the last rank ends. ``link(p, q, bytes)``: seconds of a message beyond what its ends do. Each event is looked at once.

    Raises ValueError where a rank waits for a message that nobody sends.
    """
    clock = [0.0] * len(ranks)
    used = [0.0] * len(ranks)
    place = [0] * len(ranks)
    there: dict[tuple[int, int, int], float] = {}
    moved = True
    while moved:
        moved = False
        for rank, events in enumerate(ranks):
            while place[rank] < len(events):
                kind, other, tag, size, before, after = events[place[rank]]
                if kind == WAIT and (other, rank, tag) not in there:
                    break
                clock[rank] += after - used[rank]
                used[rank] = after
                if kind == WAIT:
                    clock[rank] = max(clock[rank], there[other, rank, tag])
                elif kind == SEND:
                    there[rank, other, tag] = clock[rank] + link(rank, other, size)
                place[rank] += 1
                moved = True
    stuck = [rank for rank, events in enumerate(ranks) if place[rank] < len(events)]
    if stuck:
        raise ValueError(f"rank {stuck[0]} waits for a message that nobody sent")
    return max(clock)
