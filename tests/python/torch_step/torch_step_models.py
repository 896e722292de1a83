"""Small models that the tests of the capture share: what they need is in them, nothing is large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pardnn.torch_step.step import Step


def cross_entropy(module: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return F.cross_entropy(module(x).flatten(0, -2), y.flatten())


class Residual(nn.Module):
    """Convolutions with batch norm; activations and sums in place."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        y = self.norm2(self.conv2(y))
        y += x
        return F.relu_(y)


class Words(nn.Module):
    """A recurrent network of cells, unrolled."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.cell = nn.LSTMCell(width, width)
        self.out = nn.Linear(width, words)

    def forward(self, ids: Tensor) -> Tensor:
        hidden = torch.zeros(ids.shape[0], self.cell.hidden_size)
        state = (hidden, hidden.clone())
        outputs = []
        for x in self.embed(ids).unbind(1):
            state = self.cell(x, state)
            outputs.append(state[0])
        return self.out(torch.stack(outputs, 1))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout))
        self.heads = heads
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).split(width, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.dropout)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    """Causal, with dropout and tied input and output embeddings."""

    def __init__(self, words: int, width: int, blocks: int, length: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.wte = nn.Embedding(words, width)
        self.wpe = nn.Embedding(length, width)
        self.drop = nn.Dropout(dropout)
        self.h = nn.ModuleList(Block(width, 2, dropout) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.wte.weight
        self.register_buffer("positions", torch.arange(length), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.drop(self.wte(ids) + self.wpe(self.positions))
        for block in self.h:
            x = block(x)
        return self.head(self.norm(x))


class Experts(nn.Module):
    """A mixture of experts: every expert sees every token, the gate weighs the best two. No shape depends on data."""

    def __init__(self, width: int, experts: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width)) for _ in range(experts))

    def forward(self, x: Tensor) -> Tensor:
        scores = self.gate(x)
        best = scores.topk(2, dim=-1)
        weights = torch.full_like(scores, float("-inf")).scatter(-1, best.indices, best.values).softmax(-1)
        return torch.stack([e(x) for e in self.experts], -1).mul(weights.unsqueeze(-2)).sum(-1)


class Recommender(nn.Module):
    """Embedding bags and a dense part, with their pairwise products."""

    def __init__(self, rows: int, tables: int, width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
        self.dense = nn.Linear(5, width)
        self.top = nn.Linear(width + (tables + 1) ** 2, 1)

    def forward(self, numbers: Tensor, ids: Tensor) -> Tensor:
        bottom = F.relu(self.dense(numbers))
        vectors = torch.stack([bottom, *(t(ids[:, i]).mean(1) for i, t in enumerate(self.tables))], 1)
        pairs = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1)
        return self.top(torch.cat([bottom, pairs], 1)).squeeze(-1)


def mlp(scale: int = 1) -> Step:
    module = nn.Sequential(nn.Linear(12, 24 * scale), nn.ReLU(), nn.Linear(24 * scale, 24 * scale), nn.Tanh(), nn.Linear(24 * scale, 5))
    data = torch.randn(8 * scale, 12), torch.randint(0, 5, (8 * scale,))
    return Step(module, cross_entropy, data, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), clip=1.0)


def cnn(scale: int = 1) -> Step:
    width = 4 * scale
    module = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), Residual(width), nn.MaxPool2d(2), Residual(width), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                           nn.Linear(width, 5))
    return Step(module, cross_entropy, (torch.randn(8, 3, 8 * scale, 8 * scale), torch.randint(0, 5, (8,))), lambda p: torch.optim.Adam(p, lr=0.01))


def rnn(scale: int = 1) -> Step:
    data = torch.randint(0, 50, (4 * scale, 5)), torch.randint(0, 50, (4 * scale, 5))
    return Step(Words(50, 16 * scale), cross_entropy, data, lambda p: torch.optim.AdamW(p, lr=0.01), clip=0.5)


def transformer(scale: int = 1) -> Step:
    length = 8 * scale
    data = torch.randint(0, 40, (4 * scale, length)), torch.randint(0, 40, (4 * scale, length))
    return Step(Transformer(40, 16 * scale, 2, length), cross_entropy, data, lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1), clip=1.0)


def experts(scale: int = 1) -> Step:
    module = nn.Sequential(nn.Linear(6, 8 * scale), Experts(8 * scale, 4), nn.Linear(8 * scale, 3))
    data = torch.randn(16 * scale, 6), torch.randint(0, 3, (16 * scale,))
    return Step(module, cross_entropy, data, lambda p: torch.optim.Adam(p, lr=0.01, amsgrad=True))


def recommender(scale: int = 1) -> Step:
    def loss(module: nn.Module, numbers: Tensor, ids: Tensor, clicks: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(module(numbers, ids), clicks)

    data = torch.randn(8 * scale, 5), torch.randint(0, 100, (8 * scale, 3, 4)), torch.rand(8 * scale).round()
    return Step(Recommender(100, 3, 8 * scale), loss, data, lambda p: torch.optim.SGD(p, lr=0.1))


MODELS: dict[str, Callable[..., Step]] = {"mlp": mlp, "cnn": cnn, "rnn": rnn, "transformer": transformer, "experts": experts, "recommender": recommender}

OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd-nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=0.01), "adamw": lambda p: torch.optim.AdamW(p, lr=0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
    "adadelta": lambda p: torch.optim.Adadelta(p), "adamax": lambda p: torch.optim.Adamax(p), "nadam": lambda p: torch.optim.NAdam(p),
    "radam": lambda p: torch.optim.RAdam(p), "asgd": lambda p: torch.optim.ASGD(p), "rprop": lambda p: torch.optim.Rprop(p)}
