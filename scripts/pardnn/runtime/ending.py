"""Which rank tells of the end of a run: the first to claim it, at the beacon of the lowest rank (of the second, if that one is what is lost)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from .beacon import NOBODY, Address, Asker

PATIENCE = 2.0  # s for one answer when the run ends anyway
TELLING = 8.0  # s within which the rank that has claimed to tell the end does so
_TOLD = " told"


class Ending:
    """``boards``: where claims are written, the first that answers counts."""

    def __init__(self, rank: int, boards: Sequence[Address]) -> None:
        self._name = str(rank)
        self._boards = boards

    def claimed(self, lost: int | None) -> bool:
        """Whether it is on this rank to tell. If it is not, this returns once the other has told. ``lost``: a rank that need not be asked."""
        for board in self._boards:
            stands = None if board.rank == lost else answered(partial(_claim, board, NOBODY, self._name))
            if stands == self._name:
                return True
            if isinstance(stands, str):
                return not self.others_tell(board)
        return True

    def others_tell(self, board: Address) -> bool:
        """Waits until the rank that has claimed it there has told. False where it does not."""
        deadline = time.monotonic() + TELLING
        while time.monotonic() < deadline:
            answer = asked(board)
            if not isinstance(answer, tuple) or answer[1].endswith(_TOLD):
                return True
            time.sleep(0.1)
        return False

    def has_told(self, lost: int | None, everyone: Iterable[Address]) -> None:
        """All others may end. Each is told at its own beacon, too: one that is busy may not look at the boards before this rank is gone."""
        for board in self._boards:
            if board.rank != lost:
                answered(partial(_claim, board, self._name, self._name + _TOLD))
        others = [threading.Thread(target=self.tell, args=(rank,), daemon=True) for rank in everyone if rank.rank != lost and str(rank.rank) != self._name]
        for other in others:
            other.start()
        deadline = time.monotonic() + PATIENCE
        for other in others:
            other.join(max(0.0, deadline - time.monotonic()))

    def tell(self, rank: Address) -> None:
        """Tells one rank alone that the end has been told."""
        answered(partial(_claim, rank, NOBODY, self._name + _TOLD))


def _claim(board: Address, expected: str, words: str) -> str:
    return Asker(board).claim(expected, words)


def asked(at: Address) -> Any:
    """What a rank does and its claim; as :func:`answered` where it does not say."""
    return answered(lambda: Asker(at).ask())


def answered(question: Callable[[], Any]) -> Any:
    """The answer; the error where the other is gone; None where it does not answer within PATIENCE."""
    found: list[Any] = []

    def ask() -> None:
        try:
            found.append(question())
        except (OSError, RuntimeError) as error:
            found.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return found[0] if found else None
