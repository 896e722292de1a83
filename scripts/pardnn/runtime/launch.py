"""Starts the ranks of a run on this machine, and ends all when one of them fails."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from .ranks import RENDEZVOUS

GRACE = 3.0  # seconds between asking a rank to end and killing it


def launch(arguments: Sequence[str], count: int, module: str = "pardnn.run", kept: bool = False) -> int:
    """``python -m module`` with ``arguments`` as ``count`` processes. Exit code: 0, 3 where the input is wrong, 4 where a rank is lost, 128 + signal.

    ``kept``: the ranks keep their state when a signal ends them, and are waited for; a second signal ends them at once.
    """
    with tempfile.TemporaryDirectory(prefix="pardnn-run-") as folder:
        processes: list[subprocess.Popen[bytes]] = []
        stopped: list[int] = []
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1) if kept else (signal.SIGINT, signal.SIGTERM)
        previous = {s: signal.signal(s, lambda number, frame: stopped.append(number)) for s in numbers}
        try:
            for rank in range(count):
                environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count), RENDEZVOUS: str(Path(folder) / "meet"),
                               "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // count)))}
                processes.append(subprocess.Popen([sys.executable, "-m", module, *arguments], env=environment, preexec_fn=_end_with_parent))
            return _watch(processes, stopped, module, kept)
        finally:
            _end(processes)
            for number, handler in previous.items():
                signal.signal(number, handler)


def _end_with_parent() -> None:
    """A rank does not outlive its launcher (Linux; elsewhere its peers end when they miss it)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _watch(processes: Sequence[subprocess.Popen[bytes]], stopped: Sequence[int], module: str, kept: bool) -> int:
    asked = False
    while True:
        if stopped and kept and not asked:
            asked = True
            for process in processes:
                process.terminate()
        if len(stopped) > (1 if kept else 0):
            print(f"{module}: stopped by signal {stopped[0]}", file=sys.stderr, flush=True)
            return 128 + stopped[0]
        codes = [p.poll() for p in processes]
        if asked or (kept and any(code is not None and code > 128 for code in codes)):
            if None not in codes:
                return _stopped([code for code in codes if code], stopped)
            time.sleep(0.05)
            continue
        failed = [(rank, code) for rank, code in enumerate(codes) if code]
        if failed:
            return _failure(processes, failed, module)
        if all(code == 0 for code in codes):
            return 0
        time.sleep(0.05)


def _stopped(codes: Sequence[int], stopped: Sequence[int]) -> int:
    """The exit code of ranks that a signal has ended; where one could not keep its state, that of the failure. They have said so."""
    failures = [code for code in codes if 0 < code <= 128]
    if failures and not any(code < 0 for code in codes):
        return min(failures)
    return 128 + stopped[0] if codes and stopped else max(codes, default=0)


def _failure(processes: Sequence[subprocess.Popen[bytes]], failed: list[tuple[int, int]], module: str) -> int:
    """Waits a moment for what the others have to say: wrong input is told by rank 0."""
    killed = [(rank, code) for rank, code in failed if code < 0]
    if not killed and any(code == 3 for _, code in failed):
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline and any(p.poll() is None for p in processes):
            time.sleep(0.02)
        return 3
    rank, code = killed[0] if killed else failed[0]
    if code == 4:  # the rank has told why
        return 4
    how = f"was ended by signal {-code}" if code < 0 else f"failed with exit code {code}"
    print(f"{module}: rank {rank} {how}; all others are ended", file=sys.stderr, flush=True)
    return 4


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        if process.poll() is None:
            process.terminate()
            process.send_signal(signal.SIGCONT)  # one that is stopped ends only when it goes on
    deadline = time.monotonic() + GRACE
    for process in processes:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
