"""Ends the run when a rank hangs: stopped, frozen, or on a host that is gone behind a silent network.

Every rank has a :class:`Beacon` and asks those of the next rank and of the two lowest ones. A rank that does not answer for ``limit`` seconds is lost.
One rank tells so; all others see that it does, and end without a word. A rank that answers but does not get on is left to the timeout of those who wait
for it: then the heartbeat knows which one it is.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from .account import Answer, culprit, told
from .beacon import NOBODY, Address, Beacon
from .ending import PATIENCE, TELLING, Ending, asked
from .errors import RankLost
from .line import Line
from .progress import Progress
from .ranks import Ranks, everyones

LOST = 4  # exit code
INTERVAL = 0.25  # s between two questions, longer with more than 500 ranks


def begin(ranks: Ranks, limit: float, progress: Progress) -> Heartbeat | None:
    """Collective. None where there is nobody to watch, or ``limit`` (seconds) is 0."""
    if ranks.world == 1:
        return None
    beacon, problem = None, ""
    if limit > 0:
        try:
            beacon = Beacon(ranks.rank, progress.state())
        except (OSError, RuntimeError, ValueError) as error:
            problem = " ".join(str(error).split())[-160:]
    addresses: dict[int, Address] = {}
    for rank, (address, trouble) in enumerate(everyones(ranks, (beacon.address if beacon else None, problem))):
        if address is not None:
            addresses[rank] = address
        if trouble and ranks.rank == 0:
            _say(f"rank {rank} is watched by no heartbeat ({trouble})")
    return Heartbeat(beacon, addresses, limit, progress) if beacon else None


def targets(rank: int, everyone: list[int]) -> list[int]:
    """Whom a rank asks; ``everyone``: ranks that answer, in order."""
    following = everyone[(everyone.index(rank) + 1) % len(everyone)]
    return sorted({following, *everyone[:2]} - {rank})


class Heartbeat:
    """``addresses``: those of all ranks that have a beacon, this one's too."""

    def __init__(self, beacon: Beacon, addresses: dict[int, Address], limit: float, progress: Progress) -> None:
        self._beacon, self._addresses, self._limit, self._progress = beacon, addresses, limit, progress
        self._rank = beacon.address.rank
        everyone = sorted(addresses)
        self._boards = [addresses[rank] for rank in everyone[:2]]
        self._told = Ending(self._rank, self._boards)
        self._watchers = sum(self._rank in targets(rank, everyone) for rank in everyone)
        self._interval = min(max(INTERVAL, INTERVAL * len(everyone) / 500), limit / 8)
        self._lines = [Line(addresses[rank], self._interval) for rank in targets(self._rank, everyone)]
        self._stop = threading.Event()
        self._ending = threading.Lock()  # whoever has it ends the process
        self._done = False
        self._ticked = time.monotonic()
        self._stood_until = 0.0
        self._thread = threading.Thread(target=self._watch, name="heartbeat", daemon=True)
        self._thread.start()

    def lost(self, error: RankLost) -> None:
        """Says why the run ends, unless another rank does: for the main thread, which ends the process then."""
        with self._ending:
            if not self._given_up() and self._told.claimed(None):
                _say(f"rank {self._rank}: {error}{self._account(error.peer)}")
                self._told.has_told(None, self._addresses.values())
                time.sleep(3 * self._interval)  # until all have seen it

    def close(self) -> None:
        """This rank has done all it had to: it is asked no more, and stays until those that it watches have done so, too, or are gone."""
        self._done = True
        self._beacon.over()
        while not all(line.over for line in self._lines):
            time.sleep(0.02)
        self.stop()
        deadline = time.monotonic() + 2 * self._interval + 0.5
        while self._beacon.left() < self._watchers and time.monotonic() < deadline:
            time.sleep(0.01)

    def stop(self) -> None:
        """Watches nobody any more. A thread that is left in the network when Python ends would abort the process."""
        self._stop.set()
        self._thread.join()
        for line in self._lines:
            line.stop()
        for line in self._lines:
            line.join(PATIENCE)

    # -- the thread that watches ----------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        warned: set[int] = set()
        while not self._stop.wait(self._interval):
            awake = min(self._since_tick(), 2 * self._interval)  # while this process itself stood still, it could hear nobody
            if self._done:
                self._beacon.over()
            else:
                self._beacon.tell(self._progress.state())
            for line in self._lines:
                if line.problem and line.to.rank not in warned:
                    warned.add(line.to.rank)
                    _say(f"rank {self._rank} does not reach {line.to} at {line.to.address}:{line.to.port} and cannot watch it ({line.problem})")
                if line.silent(awake) >= self._limit:
                    return self._end_without(line)
            board = self._claimed()
            if board is not None:
                return self._end_with(board)

    def _since_tick(self) -> float:
        now = time.monotonic()
        passed = now - self._ticked
        self._ticked = now
        if passed >= self._limit:
            self._stood_until = now + TELLING
        return passed

    def _given_up(self) -> bool:
        """Whether this process itself has just stood still for so long that the others have told of it, and ended."""
        now = time.monotonic()
        if now >= self._stood_until and now - self._ticked < self._limit:
            return False
        time.sleep(PATIENCE / 4)  # for the one that woke it
        claims = [answer[1] for line in self._lines if isinstance(answer := asked(line.to), tuple)]
        return not claims or any(claim != NOBODY for claim in [*claims, self._beacon.claim()])

    def _end_without(self, line: Line) -> None:
        """Ends the run since a rank does not answer."""
        if not self._ending.acquire(blocking=False):
            return
        if self._told.claimed(line.to.rank):
            heard = f"it was last heard {line.state.words()}" if line.state else "it was never heard"
            _say(f"{line.to} has not answered for {self._limit:g} s: it is stopped, or its host or network is down; {heard}; all ranks are ended")
            self._told.has_told(line.to.rank, self._addresses.values())
        time.sleep(3 * self._interval)  # until all have seen it, and none is left to be missed by the one that wakes
        if _wakes(line.to, self._beacon.address):
            self._told.tell(line.to)
        os._exit(LOST)

    def _claimed(self) -> Address | None:
        """Where another rank has claimed to tell of the end."""
        own = self._beacon.address
        if self._beacon.claim() != NOBODY:
            return own
        return next((line.to for line in self._lines if line.claim != NOBODY), None)

    def _end_with(self, board: Address) -> None:
        if self._ending.acquire(blocking=False):
            if not self._told.others_tell(board):
                _say(f"rank {self._rank}: another rank has ended the run")
            os._exit(LOST)

    # -- what the others do ---------------------------------------------------------------------------------------------------------

    def _account(self, missed: int | None) -> str:
        """Which rank keeps the others waiting, as an end of a sentence."""
        deadline = time.monotonic() + TELLING / 2
        found = culprit(missed, self._rank, sorted(self._addresses), lambda rank: self._answer(rank, deadline))
        return "" if found is None else f"; {told(str(self._addresses[found[0]]), found[1])}"

    def _answer(self, rank: int, deadline: float) -> Answer:
        if rank not in self._addresses or time.monotonic() > deadline:
            return None
        answer = asked(self._addresses[rank])
        if isinstance(answer, tuple):
            return answer[0] or "has ended"
        heard = next((f", it was last heard {line.state.words()}" for line in self._lines if line.to.rank == rank and line.state), "")
        return f"{'does not answer' if answer is None else 'is gone'}{heard}"


def _wakes(rank: Address, own: Address) -> bool:
    """Lets a stopped process on this host go on, which it has to so that it can end; whoever ends it may not know."""
    if not rank.system or rank.system != own.system or not hasattr(signal, "SIGCONT"):
        return False
    try:
        os.kill(rank.process, signal.SIGCONT)
    except OSError:
        return False
    return True


def _say(text: str) -> None:
    print(f"pardnn.run: {text}", file=sys.stderr, flush=True)
