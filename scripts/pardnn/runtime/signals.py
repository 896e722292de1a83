"""Signals that end a run once the step is over, with its state kept, instead of at once."""

from __future__ import annotations

import signal
from types import FrameType

import torch
import torch.distributed as dist

from .errors import RankLost
from .progress import ALL
from .ranks import Ranks

STOPPING = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)


class Stop:
    """From now on a signal is only noted; :meth:`agreed` tells of it. A second SIGINT ends the process as it does elsewhere."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self._noted = 0
        for number in STOPPING:
            signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted = number
        if number == signal.SIGINT:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def agreed(self) -> int:
        """The signal that this or another rank has had, 0 where none has: the same on every rank, all of which have to ask."""
        if self._ranks.world == 1:
            return self._noted
        noted = torch.tensor([self._noted])
        self._ranks.progress.does("agreeing to go on", waits=ALL)
        try:
            dist.all_reduce(noted, op=dist.ReduceOp.MAX)
        except RuntimeError as error:
            raise RankLost(f"a rank is gone ({' '.join(str(error).split())[-160:]})") from error
        self._ranks.progress.waits = None
        return int(noted)
