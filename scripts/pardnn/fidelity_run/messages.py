"""What a message costs the cores of its sender and its receiver, and emulated runs that count it.

On GPUs copies are made beside the computation. With gloo on a CPU the cores that compute also copy, which the emulated run of the partitioner
leaves out: here both ends have their part of a message's time, and the link what is left of it.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

from ..graph import Graph, Int64
from ..machine.fit import fit_link
from ..runtime.channels import GroupChannels
from ..runtime.links import Machine
from ..runtime.plan import Transfer
from ..runtime.schedule import in_order
from ..atomic_file import write_text
from ..torch_step.values import Ref, spec_of
from .draw import Candidate

FILE = "messages.json"
SIZES = (1 << 12, 1 << 16, 1 << 19, 1 << 21, 1 << 23)  # bytes
MESSAGES, REPEATS = 8, 12


@dataclass(frozen=True)
class MessageCost:
    """ns of a core, and ns for each byte, at the sender and at the receiver."""

    send: float
    send_byte: float
    receive: float
    receive_byte: float


def measure(channels: GroupChannels, rank: int, gathered: Callable[[list[float]], list[list[float]]]) -> MessageCost:
    """Messages from rank 0 to rank 1 by the runtime's own channels; all ranks take part. ``gathered``: the numbers of each rank.

    As in a step, what is sent does not lie in a cache, and what is received has memory of its own.
    """
    used: tuple[dict[int, list[float]], dict[int, list[float]]] = {}, {}
    tag = 0
    for size in SIZES:
        flats = [torch.ones(size, dtype=torch.uint8) for _ in range(MESSAGES)]
        for repeat in range(REPEATS + 1):
            dist.barrier()
            begin = time.process_time()
            received = []
            for flat in flats:
                received.append(_message(channels, rank, Transfer(Ref(0, 0), 0, 1, True, size, 0.0, 0, None, tag=tag), flat))
                tag += 1
            times = gathered([time.process_time() - begin])
            for end in (0, 1):
                if repeat:  # the first is to warm up
                    used[end].setdefault(size, []).append(max(times[end][0] / MESSAGES, 1e-9))
    fits = [fit_link(of_end) for of_end in used]
    return MessageCost(*(value * 1e9 for fit in fits for value in (fit.latency, 1 / fit.bandwidth)))


def _message(channels: GroupChannels, rank: int, transfer: Transfer, flat: torch.Tensor) -> torch.Tensor | None:
    """What rank 1 received."""
    if rank == 0:
        channels.send(transfer, flat)
        channels.done(block=True)
    if rank != 1:
        return None
    received = channels.post(transfer, spec_of(flat))
    channels.wait(transfer)
    return received


def write_cost(folder: Path, cost: MessageCost) -> None:
    write_text(folder / FILE, json.dumps(asdict(cost)))


def read_cost(folder: Path) -> MessageCost:
    return MessageCost(**json.loads((folder / FILE).read_text(encoding="utf-8")))


def with_copies(graph: Graph, candidate: Candidate, machine: Machine, cost: MessageCost) -> int:
    """ns of the run in the candidate's order in which messages take time of both devices: after what makes them, before what reads them first.

    Tokens that only order two nodes are left out. O(E log E).
    """
    source, reader, size = _messages(graph, candidate)
    comp = graph.comp.astype(np.float64)
    np.add.at(comp, source, cost.send + cost.send_byte * size)
    np.add.at(comp, reader, cost.receive + cost.receive_byte * size)
    longer = dataclasses.replace(graph, comp=np.rint(comp).astype(np.int64))
    return in_order(longer, candidate.device, without_ends(machine, cost), candidate.schedule.order).makespan


def _messages(graph: Graph, candidate: Candidate) -> tuple[Int64, Int64, Int64]:
    """Source, first reader and bytes of each message: one per output of a node and device that reads it."""
    device, order = candidate.device, candidate.schedule.order
    crossing = np.flatnonzero((graph.bytes > 0) & (device[graph.source] != device[graph.target]))
    source, target, output, size = graph.source[crossing], graph.target[crossing], graph.output[crossing], graph.bytes[crossing]
    by = np.lexsort((order[target], device[target], output, source))
    source, target, output, size = source[by], target[by], output[by], size[by]
    first = np.ones(len(by), dtype=bool)
    first[1:] = (source[1:] != source[:-1]) | (output[1:] != output[:-1]) | (device[target[1:]] != device[target[:-1]])
    starts = np.flatnonzero(first)
    return source[starts], target[starts], np.maximum.reduceat(size, starts) if len(starts) else size


def without_ends(machine: Machine, cost: MessageCost) -> Machine:
    """Links that only take what the ends do not."""
    latency = np.maximum(0, machine.latency - round(cost.send + cost.receive))
    byte = 1e9 / machine.bandwidth - (cost.send_byte + cost.receive_byte)  # ns
    return Machine(machine.speed, latency, np.rint(1e9 / np.maximum(byte, 1e-6)).astype(np.int64))
