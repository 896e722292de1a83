"""What a run is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

BACKENDS = {"gloo": ("gloo", "cpu"), "nccl": ("cpu:gloo,cuda:nccl", "cuda")}  # what PyTorch calls the network, and the type of device


@dataclass
class Options:
    """Sizes in bytes, times in seconds. ``model`` and ``data``: the user's functions, or None."""

    graph: str
    placement: str
    steps: int = 10
    replicas: int = 1
    seed: int = 0
    model: Callable[[], Any] | None = None
    state: str | None = None
    data: Callable[[], Any] | None = None
    save: str | None = None
    sharded: bool = False
    log: str | None = None
    backend: str = "gloo"
    bucket: int = 25 * 10**6
    ahead: int = 0
    memory: int | None = None
    warm_up: int = 3
    threads: int | None = None
    timeout: float = 600.0
    heartbeat: float = 30.0
    checkpoint: str | None = None
    checkpoint_steps: int = 0
    labels: dict[str, str] = field(default_factory=dict)
