"""What can go wrong with a run."""

from __future__ import annotations


class RunError(ValueError):
    """Files or options that cannot be run: one line that says what, where, and what was expected. Exit code 3."""


class RankLost(RuntimeError):
    """A rank that is gone, or another failure of the system while the run goes on. ``peer``: the rank that was missed, if it was one. Exit code 4."""

    def __init__(self, message: str, peer: int | None = None) -> None:
        super().__init__(message)
        self.peer = peer
