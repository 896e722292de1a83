"""A place in each rank that answers the others as long as the process runs: a store of PyTorch, whose thread needs no Python.

So a long operation, also one that keeps Python's lock, does not silence it; a stopped process, a frozen container or a dead host does.
"""

from __future__ import annotations

import ipaddress
import json
import os
import socket
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from .progress import State
from .ranks import RENDEZVOUS

STATE, CLAIM, LEFT = "state", "claim", "left"
NOBODY = "-"  # has claimed to tell the end
OVER = "over"  # instead of a state: the rank has done all it had to
_CONNECT = timedelta(seconds=10)
_FOR_EVER = timedelta(days=365)
_LIBUV_LISTENS = tuple(int(n) for n in torch.__version__.split(".")[:2]) >= (2, 13)  # its kind of store takes a socket; that of 2.6 does not


@dataclass(frozen=True)
class Address:
    """Where a rank's beacon is. ``system``: equal for processes that can signal each other by number; "" if unknown."""

    rank: int
    host: str
    process: int
    system: str
    address: str
    port: int

    def __str__(self) -> str:
        return f"rank {self.rank} (host {self.host}, process {self.process})"


class Beacon:
    """This rank's own. Raises OSError or RuntimeError where it cannot listen."""

    def __init__(self, rank: int, state: State) -> None:
        address = _own_address()
        if address == "127.0.0.1":
            with socket.create_server((address, 0)) as listener:
                port = listener.getsockname()[1]
                self._store = dist.TCPStore(address, port, is_master=True, wait_for_workers=False, timeout=_CONNECT, use_libuv=_LIBUV_LISTENS,
                                            master_listen_fd=os.dup(listener.fileno()))
        else:
            self._store = dist.TCPStore(address, 0, is_master=True, wait_for_workers=False, timeout=_CONNECT)
        self.address = Address(rank, socket.gethostname(), os.getpid(), _system(), address, self._store.port)
        self._store.set(CLAIM, NOBODY)
        self.tell(state)

    def tell(self, state: State) -> None:
        self._store.set(STATE, json.dumps(state.fields()))

    def over(self) -> None:
        self._store.set(STATE, OVER)

    def claim(self) -> str:
        """Who tells the others of the end: NOBODY, or what :func:`claimed` wrote."""
        return self._store.get(CLAIM).decode()

    def left(self) -> int:
        """How many others will ask no more."""
        return int(self._store.add(LEFT, 0))


class Asker:
    """A connection to another rank's beacon. Every method may wait for ever where that process is stopped, and raises RuntimeError where it is gone."""

    def __init__(self, at: Address) -> None:
        socket.create_connection((at.address, at.port), _CONNECT.total_seconds()).close()  # PyTorch would try again where it is refused
        self._store: Any = dist.TCPStore(at.address, at.port, is_master=False, wait_for_workers=False, timeout=_CONNECT)
        self._store.set_timeout(_FOR_EVER)

    def ask(self) -> tuple[State | None, str]:
        """What the rank does (None: it is over) and its claim."""
        state, claim = self._store.multi_get([STATE, CLAIM])
        return (None if state.decode() == OVER else State(**json.loads(state))), claim.decode()

    def claim(self, expected: str, words: str) -> str:
        """The claim that stands now."""
        found = self._store.compare_set(CLAIM, expected, words)
        return found if isinstance(found, str) else found.decode()

    def leave(self) -> None:
        self._store.add(LEFT, 1)


def _own_address() -> str:
    """Where the others reach this host: the way to rank 0 begins there."""
    if RENDEZVOUS in os.environ or "MASTER_ADDR" not in os.environ:
        return "127.0.0.1"
    master, port = os.environ["MASTER_ADDR"], int(os.environ.get("MASTER_PORT", "1"))
    family, kind, _, _, target = socket.getaddrinfo(master, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as way:
        way.connect(target)
        found = str(way.getsockname()[0])
    return master if ipaddress.ip_address(found.partition("%")[0]).is_loopback else found


def _system() -> str:
    try:
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""
