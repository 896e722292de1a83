"""Values on their way between ranks: receives that are begun early, sends that nobody waits for until memory is short, averages over replicas."""

from __future__ import annotations

import queue
import threading
from collections import deque
from datetime import timedelta
from typing import Any, Protocol

import torch
import torch.distributed as dist

from ..torch_step.values import Spec
from .errors import RankLost
from .plan import Transfer
from .progress import ALL, Progress


def _dense(spec: Spec) -> list[int]:
    """Dimensions whose elements differ, outermost first."""
    return sorted((i for i, stride in enumerate(spec.strides) if stride and spec.shape[i] > 1), key=lambda i: (-spec.strides[i], i))


def compact(tensor: torch.Tensor, spec: Spec) -> torch.Tensor:
    """The distinct elements as flat bytes, in the order of the strides of ``spec``; a copy only where they do not lie together."""
    if 0 in spec.shape:
        return torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return _distinct(tensor, spec).contiguous().reshape(-1).view(torch.uint8)


def lies_together(tensor: torch.Tensor, spec: Spec) -> bool:
    """Whether :func:`compact` makes no copy."""
    return 0 in spec.shape or _distinct(tensor, spec).is_contiguous()


def _distinct(tensor: torch.Tensor, spec: Spec) -> torch.Tensor:
    dims = _dense(spec)
    kept = sorted(dims)
    small = tensor[tuple(slice(None) if i in kept else 0 for i in range(len(spec.shape)))]
    return small.permute([kept.index(i) for i in dims])


def expanded(flat: torch.Tensor, spec: Spec) -> torch.Tensor:
    """The tensor of geometry ``spec`` (gaps between its elements left out) whose distinct elements are ``flat``."""
    strides = [0] * len(spec.shape)
    step = 1
    for i in reversed(_dense(spec)):
        strides[i] = step
        step *= spec.shape[i]
    for i in range(len(spec.shape) - 1, -1, -1):  # dimensions of one element lie as in a dense tensor, so that views stay possible
        if spec.shape[i] == 1:
            strides[i] = strides[i + 1] * spec.shape[i + 1] if i + 1 < len(spec.shape) else 1
    return flat.view(getattr(torch, spec.dtype)).as_strided(spec.shape, strides)


def packed_bytes(spec: Spec) -> int:
    """Bytes of what :func:`compact` makes of a tensor."""
    return 0 if 0 in spec.shape else spec.unique_bytes


class Channels(Protocol):
    """What the engine needs of a network; ``done`` lists the transfers whose memory the sender may reuse."""

    def post(self, transfer: Transfer, spec: Spec | None) -> torch.Tensor: ...
    def wait(self, transfer: Transfer) -> None: ...
    def send(self, transfer: Transfer, flat: torch.Tensor | None) -> None: ...
    def done(self, block: bool) -> list[Transfer]: ...
    def average(self, flat: torch.Tensor) -> Any: ...


class GroupChannels:
    """Over torch.distributed. With gloo, receives find their sends by tag, and a thread for each peer waits for sends to end. With nccl every
    ordered pair of devices has a group of its own, since only the order tells its messages apart."""

    def __init__(self, rank: int, devices: int, replicas: int, device: torch.device, timeout: timedelta,
                 progress: Progress | None = None) -> None:
        self._rank = rank
        self._progress = progress or Progress()
        self._first = rank - rank % devices
        self._device = device
        self._tagged = device.type == "cpu"
        self._works: dict[int, Any] = {}
        self._ended: queue.Queue[Transfer | BaseException] = queue.Queue()
        self._out: dict[int, queue.Queue[tuple[Any, Transfer] | None]] = {}
        self._reapers: list[threading.Thread] = []
        self._polled: deque[tuple[Any, Transfer]] = deque()
        self._token = torch.zeros(1, dtype=torch.uint8, device=device)
        self._replica_group: Any = None
        self._pairs: dict[tuple[int, int], Any] = {}
        if replicas > 1:
            for d in range(devices):
                members = [r * devices + d for r in range(replicas)]
                group = dist.new_group(members, timeout=timeout)
                if rank in members:
                    self._replica_group = group
        if not self._tagged:
            for first in range(0, devices * replicas, devices):
                for p in range(first, first + devices):
                    for q in range(first, first + devices):
                        if p != q:
                            self._pairs[p, q] = dist.new_group([p, q], timeout=timeout)

    def post(self, transfer: Transfer, spec: Spec | None) -> torch.Tensor:
        """Memory for what will come, and its receive begun."""
        size = 0 if spec is None else packed_bytes(spec)
        flat = torch.empty(max(size, 1), dtype=torch.uint8, device=self._device)
        source = self._first + transfer.source
        self._works[id(transfer)] = _checked(lambda: dist.irecv(flat, source, group=self._group(source, None), tag=transfer.tag), source)
        return flat[:size]

    def wait(self, transfer: Transfer) -> None:
        source = self._progress.waits = self._first + transfer.source
        _checked(self._works.pop(id(transfer)).wait, source)
        self._progress.waits = None

    def send(self, transfer: Transfer, flat: torch.Tensor | None) -> None:
        """Begins to send; the memory is the network's until :meth:`done` lists the transfer."""
        flat = flat if flat is not None and flat.numel() else self._token
        target = self._first + transfer.target
        work = _checked(lambda: dist.isend(flat, target, group=self._group(None, target), tag=transfer.tag), target)
        if not self._tagged:
            self._polled.append((work, transfer))
            return
        if target not in self._out:
            self._out[target] = queue.Queue()
            self._reapers.append(threading.Thread(target=self._reap, args=(target, self._out[target]), daemon=True))
            self._reapers[-1].start()
        self._out[target].put((work, transfer))

    def _group(self, source: int | None, target: int | None) -> Any:
        if self._tagged:
            return None
        return self._pairs[self._rank if source is None else source, self._rank if target is None else target]

    def _reap(self, target: int, works: queue.Queue[tuple[Any, Transfer] | None]) -> None:
        while (entry := works.get()) is not None:
            try:
                entry[0].wait()
                self._ended.put(entry[1])
            except Exception as error:
                self._ended.put(RankLost(_lost(target, error), target))
                return

    def done(self, block: bool) -> list[Transfer]:
        """Transfers that ended since the last call; with ``block`` at least one (some must be under way)."""
        found: list[Transfer] = []
        if block:
            self._progress.waits = ALL
        while self._polled and (self._polled[0][0].is_completed() or (block and not found)):
            work, transfer = self._polled.popleft()
            work.wait()
            found.append(transfer)
        while True:
            try:
                entry = self._ended.get(block=block and not found)
            except queue.Empty:
                self._progress.waits = None
                return found
            if isinstance(entry, BaseException):
                raise entry
            found.append(entry)

    def average(self, flat: torch.Tensor) -> Any:
        """Begins the sum of ``flat`` over the replicas of this device, in place; the result's ``wait`` ends it."""
        return dist.all_reduce(flat, group=self._replica_group, async_op=True)

    def close(self) -> None:
        """Waits for all sends; a thread that is left in the network when Python ends would abort the process."""
        for works in self._out.values():
            works.put(None)
        for thread in self._reapers:
            thread.join()


def _checked(action: Any, peer: int) -> Any:
    try:
        return action()
    except (RuntimeError, ValueError) as error:
        raise RankLost(_lost(peer, error), peer) from error


def _lost(peer: int, error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"no connection to rank {peer} any more ({text[-160:]})"
