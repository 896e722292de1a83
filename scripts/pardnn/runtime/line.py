"""Asks another rank again and again, in a thread of its own, since a question to a stopped process may wait for ever."""

from __future__ import annotations

import threading

from .beacon import NOBODY, Address, Asker
from .progress import State


class Line:
    """``state``: what the rank last said of itself. ``claim``: who tells of the end, as far as that rank knows. ``problem``: why it was never reached.

    ``over``: it is asked no more, since it is done or gone (a rank that is gone is noticed by those who need it).
    """

    def __init__(self, to: Address, interval: float) -> None:
        self.to = to
        self.state: State | None = None
        self.claim = NOBODY
        self.problem = ""
        self.over = False
        self._interval = interval
        self._answers = self._seen = 0
        self._silent = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"heartbeat of rank {to.rank}", daemon=True)
        self._thread.start()

    def silent(self, awake: float) -> float:
        """Seconds without an answer, as far as this process was awake to hear one: ``awake`` of them since the last call."""
        if self.over or self._answers != self._seen:
            self._seen, self._silent = self._answers, 0.0
        else:
            self._silent += awake
        return self._silent

    def stop(self) -> None:
        self._stop.set()

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def _run(self) -> None:
        asker = None
        try:
            asker = Asker(self.to)
            while True:
                state, self.claim = asker.ask()
                self._answers += 1
                if state is None or self._stop.wait(self._interval):
                    asker.leave()
                    break
                self.state = state
        except (RuntimeError, OSError) as error:
            self.problem = "" if self._answers else " ".join(str(error).split())[-160:]
        self.over = True
