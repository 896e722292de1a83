"""A model whose batch size is an argument."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pardnn.capture_torch import Step


def loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return F.mse_loss(model(x), y)


def mlp(batch: int = 4, width: int = 64, layers: int = 3) -> Step:
    """Perceptrons in a row."""
    model = nn.Sequential(*(part for _ in range(layers) for part in (nn.Linear(width, width), nn.ReLU())))
    return Step(model, loss, inputs=(torch.randn(batch, width), torch.randn(batch, width)), optimizer=lambda p: torch.optim.SGD(p, lr=0.1))


def constant(batch: int = 4) -> Step:
    """The batch size does nothing."""
    return mlp(8)
