"""The processes of a run: who they are, how they meet, and that they all run the same."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from .errors import RankLost, RunError
from .progress import ALL, Progress

RENDEZVOUS = "PARDNN_RENDEZVOUS"  # a file that the launcher makes; without it MASTER_ADDR and MASTER_PORT are used


@dataclass
class Ranks:
    """``rank`` of ``world`` processes; ``local``: its number on its host. ``progress``: what this one does."""

    rank: int
    world: int
    local: int
    progress: Progress = field(default_factory=Progress)

    @classmethod
    def from_environment(cls) -> Ranks:
        """What torchrun, the launcher or (by hand) the user set. One process is a run of its own."""
        try:
            return cls(int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("LOCAL_RANK", os.environ.get("RANK", 0))))
        except ValueError as error:
            raise RunError(f"RANK, WORLD_SIZE, LOCAL_RANK: expected numbers ({error})") from error

    def device(self, kind: str) -> torch.device:
        if kind == "cpu":
            return torch.device("cpu")
        if not torch.cuda.is_available():
            raise RunError(f"--backend nccl: rank {self.rank} has no GPU that PyTorch {torch.__version__} can use; --backend gloo runs on CPUs")
        if self.local >= torch.cuda.device_count():
            raise RunError(f"rank {self.rank} is number {self.local} on its host, which has {torch.cuda.device_count()} GPUs")
        torch.cuda.set_device(self.local)
        return torch.device("cuda", self.local)

    def join(self, backend: str, timeout: timedelta) -> None:
        """Meets the others."""
        file = os.environ.get(RENDEZVOUS)
        if file is None and self.world == 1 and not {"MASTER_ADDR", "MASTER_PORT"} <= os.environ.keys():
            store: Any = dist.HashStore()
            dist.init_process_group(backend, store=store, rank=0, world_size=1, timeout=timeout)
            return
        try:
            dist.init_process_group(backend, init_method=f"file://{file}" if file else "env://", rank=self.rank, world_size=self.world, timeout=timeout)
        except (RuntimeError, ValueError) as error:
            raise RankLost(f"the ranks did not meet ({' '.join(str(error).split())[:200]})") from error


def leave() -> None:
    """This rank has done all it had to. Gloo's threads get Python's lock before the group ends, which holds it and waits for them: they may have tensors
    of the last reductions to drop (PyTorch 2.6 hangs then).
    """
    time.sleep(0.1)
    dist.destroy_process_group()


def everyones(ranks: Ranks, own: Any) -> list[Any]:
    """Collective: what each rank gave, in their order."""
    found: list[Any] = [None] * ranks.world
    ranks.progress.waits = ALL
    try:
        dist.all_gather_object(found, own)
    except RuntimeError as error:
        raise RankLost(f"a rank is gone, or does not answer ({' '.join(str(error).split())[:200]})") from error
    ranks.progress.waits = None
    return found


def agree(ranks: Ranks, error: str | None, settings: dict[str, str]) -> None:
    """Raises RunError on every rank if one of them has an error, or if their settings differ; the message is the same everywhere."""
    all_of = everyones(ranks, (error, settings))
    for rank, (problem, _) in enumerate(all_of):
        if problem is not None:
            count = sum(1 for p, _ in all_of if p is not None)
            raise RunError(problem if count == ranks.world else f"rank {rank}: {problem}")
    for key in sorted(settings):
        values = [theirs.get(key, "nothing") for _, theirs in all_of]
        other = next((r for r, v in enumerate(values) if v != values[0]), None)
        if other is not None:
            raise RunError(f"ranks disagree on {key}: rank 0 has {values[0]}, rank {other} has {values[other]}")
