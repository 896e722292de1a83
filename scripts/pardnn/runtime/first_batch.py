"""The inputs of a step on all ranks: the first ones are compared, and a rank that has none says so to all."""

from __future__ import annotations

import torch

from .batches import Batch
from .errors import RankLost
from .prepare import Prepared, digest
from .ranks import Ranks, agree, everyones


def batch_of_step(prepared: Prepared, ranks: Ranks, number: int) -> Batch:
    """The step's inputs. Collective in the first step: raises RunError on every rank where one has a wrong batch, or another one."""
    ranks.progress.does("taking a batch (--data)")
    problem, batch = None, None
    try:
        batch = prepared.batches.of_step(number)
        for slot in prepared.program.inputs:
            batch(slot.index)
    except ValueError as error:
        problem = " ".join(str(error).split())
    if number == prepared.first:
        _compare(prepared, ranks, None if problem else batch, problem)
    elif problem is not None:
        raise RankLost(problem)
    assert batch is not None
    return batch


def _compare(prepared: Prepared, ranks: Ranks, batch: Batch | None, problem: str | None) -> None:
    """Ranks of one replica have one batch; replicas have batches of their own, so their ranks tell that of rank 0's replica."""
    found = None
    if batch is not None and not prepared.replica:
        inputs = sorted({slot.index for slot in prepared.program.inputs})
        found = digest([], b"".join(batch(i).contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() for i in inputs))
    first = everyones(ranks, found)[0]
    agree(ranks, problem, {"the first batch": str(found or first)})
