"""The state after the last step, on disk: gathered on rank 0, or a file per rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from ..torch_step.values import Ref
from .errors import RankLost
from .prepare import Prepared
from .ranks import Ranks
from .state_file import SHARD, content_of, gathered, save


def save_run(prepared: Prepared, ranks: Ranks, values: Mapping[Ref, torch.Tensor], path: str, step: int, *, sharded: bool) -> None:
    """Replica 0's state; ``step``: the number of the next one. Parameters are equal on all replicas; batch statistics are replica 0's."""
    if prepared.replica:
        return
    ranks.progress.does("saving the state")
    program, start = prepared.program, prepared.start
    if sharded:
        Path(path).mkdir(parents=True, exist_ok=True)
        own = {ref: t.cpu() for ref, t in values.items()}
        save(Path(path) / SHARD.format(ranks.rank), content_of(program, own, start, step))
        return
    owner = {n: int(d) for n, d in enumerate(prepared.plan.placement.device)}
    found = gathered(program, values, owner, ranks.rank, lambda tensor, target: _transferred(ranks, lambda: dist.send(tensor.cpu(), target), target),
                     lambda tensor, source: _transferred(ranks, lambda: dist.recv(tensor, source), source))
    if found is not None:
        save(path, content_of(program, found, start, step))
        print(f"saved       {path}", flush=True)


def _transferred(ranks: Ranks, action: Callable[[], Any], peer: int) -> None:
    ranks.progress.waits = peer
    try:
        action()
    except RuntimeError as error:
        raise RankLost(f"no connection to rank {peer} any more ({' '.join(str(error).split())[-160:]})", peer) from error
    ranks.progress.waits = None
