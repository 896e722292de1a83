"""A DLRM: 26 tables of categories and 13 numbers, their vectors multiplied with each other, and two multi-layer perceptrons; SGD, dense gradients."""

from __future__ import annotations

from typing import Any

import torch
from pardnn.capture_torch import Step
from torch import Tensor, nn
from torch.nn import functional as F

CATEGORIES = (227605432, 39060, 17295, 7424, 20265, 3, 7122, 1543, 63, 130229467, 3067956, 405282, 10, 2209, 11938, 155, 4, 976, 14, 292775614, 40790948,
              187188510, 590152, 12973, 108, 36)
"""Distinct values of the categorical features of the Criteo 1TB click logs, by column."""


def perceptron(sizes: tuple[int, ...], last: bool) -> nn.Sequential:
    """Linear layers with ReLU between them, and behind the last one if ``last``."""
    layers: list[nn.Module] = []
    for i, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        layers.append(nn.Linear(inputs, outputs))
        if last or i < len(sizes) - 2:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


class Dlrm(nn.Module):
    """Numbers [batch, 13] and categories [batch, tables] -> logits [batch]."""

    pairs: Tensor

    def __init__(self, rows: tuple[int, ...], width: int, bottom: tuple[int, ...], top: tuple[int, ...], numbers: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(n, width) for n in rows)
        self.bottom = perceptron((numbers, *bottom, width), last=True)
        vectors = len(rows) + 1
        self.register_buffer("pairs", torch.tensor([i * vectors + j for i in range(vectors) for j in range(i)]), persistent=False)
        self.top = perceptron((width + len(self.pairs), *top, 1), last=False)

    def forward(self, numbers: Tensor, categories: Tensor) -> Tensor:
        dense = self.bottom(numbers)
        vectors = torch.stack([dense, *(table(c) for table, c in zip(self.tables, categories.unbind(dim=1)))], dim=1)
        products = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1).index_select(1, self.pairs)
        return self.top(torch.cat([dense, products], dim=1)).squeeze(1)


def loss(model: nn.Module, numbers: Tensor, categories: Tensor, clicks: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(model(numbers, categories), clicks)


def step(width: int = 128, most_rows: int = 10_000_000, bottom: tuple[int, ...] = (512, 256), top: tuple[int, ...] = (1024, 1024, 512, 256), numbers: int = 13,
         batch: int = 2048) -> Step:
    """``most_rows``: larger tables are cut to that many rows (indices by remainder); ``bottom``, ``top``: inner layers of the perceptrons."""
    rows = tuple(min(n, most_rows) for n in CATEGORIES)
    model = Dlrm(rows, width, bottom, top, numbers)
    features = torch.randn(batch, numbers)
    categories = torch.stack([torch.randint(n, (batch,)) for n in rows], dim=1)
    clicks = torch.randint(2, (batch,)).float()
    return Step(model, loss, inputs=(features, categories, clicks),
                optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.1))


SMALL: dict[str, Any] = dict(width=8, most_rows=50, bottom=(16,), top=(16, 8), batch=8)


def small() -> Step:
    """The same, for a test on a CPU."""
    return step(**SMALL)
