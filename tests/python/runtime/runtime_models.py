"""The examples at sizes for tests, as --model of a run, and batches for them. Also imported by the tests."""

from __future__ import annotations

import ctypes
import os
import pathlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts/examples"))

import gpt2  # noqa: E402
import moe  # noqa: E402
import wide_resnet  # noqa: E402
import word_rnn  # noqa: E402

from pardnn.torch_step.step import Step  # noqa: E402

WORDS, LENGTH, BATCH = 50, 6, 4


def _sgd(step: Step) -> Step:
    """Adam makes whole steps of gradients that are rounding errors, so that sums in another order end elsewhere; momentum does not."""
    step.optimizer = lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9)
    return step


def gpt(batch: int = BATCH, dropout: float = 0.1) -> Step:
    return gpt2.step(layers=2, width=16, heads=2, vocabulary=WORDS, length=LENGTH, batch=batch, dropout=dropout)


def gpt_sgd(batch: int = BATCH // 2) -> Step:
    return _sgd(gpt(batch, 0.0))


def resnet(batch: int = BATCH) -> Step:
    return wide_resnet.step(units=1, widening=1, size=8, classes=5, batch=batch)


def resnet_sgd(batch: int = BATCH // 2) -> Step:
    return resnet(batch)


def rnn(batch: int = BATCH, dropout: float = 0.1) -> Step:
    return word_rnn.step(layers=2, hidden=16, length=LENGTH, vocabulary=WORDS, batch=batch, dropout=dropout)


def rnn_sgd(batch: int = BATCH // 2) -> Step:
    return _sgd(rnn(batch, 0.0))


def experts(batch: int = BATCH, micro_batches: int = 1) -> Step:
    return moe.step(layers=2, width=16, heads=2, inner=32, experts=3, vocabulary=WORDS, length=LENGTH, batch=batch, micro_batches=micro_batches)


def experts_sgd(batch: int = BATCH // 2) -> Step:
    return _sgd(experts(batch, batch * 2 // BATCH))


class Shared(torch.nn.Module):
    """Gradients of ``a`` and ``b`` are one tensor, which is also what flows back to the layer before."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = (torch.nn.Parameter(torch.randn(BATCH // 2, 1, WORDS)) for _ in range(2))
        self.table = torch.nn.Embedding(WORDS, WORDS)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.table(words[:, :1])
        return (x + self.a + self.b).tanh()


def shared(batch: int = BATCH // 2) -> Step:
    """For one replica's samples only: its parameters have the size of the batch."""
    data = tuple(torch.randint(WORDS, (batch, LENGTH)) for _ in range(2))
    return _sgd(Step(Shared(), lambda module, x, y: module(x).square().mean() + 0 * y.sum(), data, lambda parameters: torch.optim.SGD(parameters, lr=1.0)))


def tokens() -> Iterator[Any]:
    """Batches of a language model."""
    generator = torch.Generator().manual_seed(7)
    while True:
        yield tuple(torch.randint(WORDS, (BATCH, LENGTH), generator=generator) for _ in range(2))


def images() -> Iterator[Any]:
    generator = torch.Generator().manual_seed(7)
    while True:
        yield torch.randn(BATCH, 3, 8, 8, generator=generator), torch.randint(5, (BATCH,), generator=generator)


def two_batches() -> Iterator[Any]:
    """An iterator that ends too early."""
    batches = tokens()
    yield next(batches)
    yield next(batches)


def short_batches() -> Iterator[Any]:
    """Batches of another shape."""
    while True:
        yield torch.zeros(BATCH, LENGTH - 1, dtype=torch.int64), torch.zeros(BATCH, LENGTH, dtype=torch.int64)


def halves() -> Iterator[Any]:
    """Batches of half the size, for the models of one replica."""
    for batch in tokens():
        yield tuple(tensor[:BATCH // 2] for tensor in batch)


def sleeps() -> Iterator[Any]:
    """Rank 1 keeps Python's lock for four seconds in its second batch, as a library written in C may."""
    for number, batch in enumerate(tokens()):
        if number == 1 and os.environ["RANK"] == "1":
            ctypes.PyDLL(None).usleep(4_000_000)
        yield batch


def loops() -> Iterator[Any]:
    """The third batch of rank 1 takes for ever."""
    for number, batch in enumerate(tokens()):
        while number == 2 and os.environ["RANK"] == "1":
            pass
        yield batch


DATA: dict[str, Callable[[], Iterator[Any]]] = {"gpt": tokens, "resnet": images, "rnn": tokens, "experts": tokens, "shared": tokens}


def raises() -> Step:
    raise KeyError("no such model")


def leaves() -> Step:
    raise SystemExit(5)


def number() -> Any:
    return 7
