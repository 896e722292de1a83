"""What ranks measure together: messages between all pairs, and a matrix product on every device."""

from __future__ import annotations

import platform
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from ..runtime.errors import RankLost
from ..runtime.ranks import Ranks
from .fit import Link, fit_link
from .memory import host_memory
from .rounds import rounds_of_pairs

BACKENDS = {"gloo": ("gloo", "cpu"), "nccl": ("cpu:gloo,cuda:nccl", "cuda")}  # of torch.distributed, and where the messages lie
SMALL = 8  # bytes of a message that only has a latency, and of an answer


@dataclass(frozen=True)
class Effort:
    """How much is measured. ``sizes``: of large messages, bytes; ``repeats`` of each; ``small``: repeats of small ones; ``matmul``: rows of the matrices.

    ``alone``: one pair of ranks after another, else pairs that share no rank at the same time.
    """

    sizes: tuple[int, ...]
    repeats: int = 20
    small: int = 200
    matmul: int = 0
    alone: bool = False


@dataclass(frozen=True)
class DeviceFacts:
    """What a rank says of its device: ``memory`` in bytes and where that number is from, ``matmul``: seconds of a matrix product of ``rows`` rows."""

    host: str
    boot: str  # the host's own word for its last start: two hosts of one name differ in it
    kind: str  # "cpu" or "gpu"
    model: str
    memory: int
    source: str
    shared: bool
    matmul: float
    rows: int

    @property
    def flops(self) -> float:
        """Per second, of the matrix product."""
        return 2.0 * self.rows**3 / self.matmul


@dataclass(frozen=True)
class Measured:
    """Of all ranks: devices by rank, links by (sender, receiver)."""

    devices: list[DeviceFacts]
    links: dict[tuple[int, int], Link]


def measure(ranks: Ranks, device: torch.device, effort: Effort, said: Callable[[str], None]) -> Measured:
    """Collective: all ranks measure, and all get everything. ``said`` hears of the progress. Raises RankLost where a rank is gone."""
    try:
        _meet(ranks)
        devices = _gathered(ranks, device_facts(device, effort.matmul or (4096 if device.type == "cuda" else 512)))
        rounds = rounds_of_pairs(ranks.world)
        if effort.alone:
            rounds = [[pair] for pairs in rounds for pair in pairs]
        own: dict[tuple[int, int], Link] = {}
        for number, pairs in enumerate(rounds, 1):
            said(f"round {number} of {len(rounds)}")
            for p, q in pairs:
                for sender, receiver in ((p, q), (q, p)):
                    if ranks.rank == sender:
                        own[sender, receiver] = fit_link(time_messages(receiver, device, effort))
                    elif ranks.rank == receiver:
                        answer_messages(sender, device, effort)
            _meet(ranks)
        return Measured(devices, {pair: link for theirs in _gathered(ranks, own) for pair, link in theirs.items()})
    except RuntimeError as error:
        raise RankLost(f"a rank is gone, or does not answer ({' '.join(str(error).split())[-200:]})") from error


def time_messages(receiver: int, device: torch.device, effort: Effort) -> dict[int, list[float]]:
    """Seconds from here to rank ``receiver`` by message size in bytes. A message is answered by a small one, whose time is taken off.

    The two ways of small messages cannot be told apart without a common clock: each has half of the median round trip.
    """
    answer = torch.zeros(SMALL, dtype=torch.uint8, device=device)
    round_trips = _round_trips(receiver, SMALL, answer, effort.small)
    back = float(np.median(round_trips)) / 2
    times = {SMALL: [t / 2 for t in round_trips]}
    for size in effort.sizes:
        times[size] = [max(t - back, t / 2) for t in _round_trips(receiver, size, answer, effort.repeats)]
    return times


def _round_trips(receiver: int, size: int, answer: torch.Tensor, repeats: int) -> list[float]:
    message = torch.ones(size, dtype=torch.uint8, device=answer.device)
    found = []
    for _ in range(repeats + _warm_up(repeats)):
        _finished(answer.device)
        begin = time.perf_counter()
        dist.send(message, receiver)
        dist.recv(answer, receiver)
        _finished(answer.device)
        found.append(time.perf_counter() - begin)
    return found[_warm_up(repeats):]


def answer_messages(sender: int, device: torch.device, effort: Effort) -> None:
    """The other side of :func:`time_messages`."""
    answer = torch.zeros(SMALL, dtype=torch.uint8, device=device)
    for size, repeats in ((SMALL, effort.small), *((size, effort.repeats) for size in effort.sizes)):
        message = torch.empty(size, dtype=torch.uint8, device=device)
        for _ in range(repeats + _warm_up(repeats)):
            dist.recv(message, sender)
            dist.send(answer, sender)
    _finished(device)


def _warm_up(repeats: int) -> int:
    return 1 + repeats // 10


def device_facts(device: torch.device, rows: int) -> DeviceFacts:
    """This rank's device; times a float32 matrix product of ``rows`` rows, the median of 9."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    here, up_since = socket.gethostname(), boot.read_text().strip() if boot.exists() else ""
    seconds = _matmul_seconds(device, rows)
    if device.type == "cuda":
        known = torch.cuda.get_device_properties(device)
        return DeviceFacts(here, up_since, "gpu", known.name, known.total_memory, "the GPU's own", False, seconds, rows)
    memory, source = host_memory()
    return DeviceFacts(here, up_since, "cpu", _cpu_model(), memory, source, True, seconds, rows)


def _matmul_seconds(device: torch.device, rows: int) -> float:
    a, b = (torch.ones(rows, rows, device=device) for _ in range(2))
    times = []
    for _ in range(12):
        _finished(device)
        begin = time.perf_counter()
        a @ b
        _finished(device)
        times.append(time.perf_counter() - begin)
    return float(np.median(times[3:]))


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    except OSError:
        pass
    return platform.machine() or "CPU"


def _finished(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _meet(ranks: Ranks) -> None:
    if ranks.world > 1:
        dist.all_reduce(torch.zeros(1))


def _gathered(ranks: Ranks, own: Any) -> list[Any]:
    everyone: list[Any] = [None] * ranks.world
    dist.all_gather_object(everyone, own)
    return everyone
