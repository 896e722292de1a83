"""Progress of long reads on standard error: a rewritten line on a terminal, a line each 30 s elsewhere."""

from __future__ import annotations

import sys
import time


class Progress:
    """``update(done, total)`` as often as one likes; says nothing for what takes less than a few seconds."""

    def __init__(self, what: str, quiet: bool = False) -> None:
        self._what = what
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._next = time.monotonic() + (2 if self._terminal else 30)
        self._shown = False

    def update(self, done: int, total: int) -> None:
        if self._quiet or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + (0.5 if self._terminal else 30)
        self._shown = True
        text = f"{self._what}: {done / 2**20:.0f} of {total / 2**20:.0f} MiB"
        print(f"\r{text}" if self._terminal else text, end="" if self._terminal else "\n", file=sys.stderr, flush=True)

    def done(self) -> None:
        if self._shown and self._terminal:
            print(file=sys.stderr)
