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


def launch(arguments: Sequence[str], count: int, module: str = "pardnn.run") -> int:
    """``python -m module`` with ``arguments`` as ``count`` processes. Exit code: 0, 3 where the input is wrong, 4 where a rank is lost, 128 + signal."""
    with tempfile.TemporaryDirectory(prefix="pardnn-run-") as folder:
        processes: list[subprocess.Popen[bytes]] = []
        stopped: list[int] = []
        previous = {s: signal.signal(s, lambda number, frame: stopped.append(number)) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            for rank in range(count):
                environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count), RENDEZVOUS: str(Path(folder) / "meet"),
                               "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // count)))}
                processes.append(subprocess.Popen([sys.executable, "-m", module, *arguments], env=environment, preexec_fn=_end_with_parent))
            return _watch(processes, stopped, module)
        finally:
            _end(processes)
            for number, handler in previous.items():
                signal.signal(number, handler)


def _end_with_parent() -> None:
    """A rank does not outlive its launcher (Linux; elsewhere its peers end when they miss it)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _watch(processes: Sequence[subprocess.Popen[bytes]], stopped: Sequence[int], module: str) -> int:
    while True:
        if stopped:
            print(f"{module}: stopped by signal {stopped[0]}", file=sys.stderr, flush=True)
            return 128 + stopped[0]
        codes = [p.poll() for p in processes]
        failed = [(rank, code) for rank, code in enumerate(codes) if code]
        if failed:
            return _failure(processes, failed, module)
        if all(code == 0 for code in codes):
            return 0
        time.sleep(0.05)


def _failure(processes: Sequence[subprocess.Popen[bytes]], failed: list[tuple[int, int]], module: str) -> int:
    """Waits a moment for what the others have to say: wrong input is told by rank 0."""
    killed = [(rank, code) for rank, code in failed if code < 0]
    if not killed and any(code == 3 for _, code in failed):
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline and any(p.poll() is None for p in processes):
            time.sleep(0.02)
        return 3
    rank, code = killed[0] if killed else failed[0]
    how = f"was ended by signal {-code}" if code < 0 else f"failed with exit code {code}"
    print(f"{module}: rank {rank} {how}; all others are ended", file=sys.stderr, flush=True)
    return 4


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        if process.poll() is None:
            process.terminate()
    deadline = time.monotonic() + GRACE
    for process in processes:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
