"""TRN of the paper: an encoder-decoder Transformer with dropout; the output layer shares the embedding of the target language; Adam."""

from __future__ import annotations

import math
from typing import Any

import torch
from pardnn.capture_torch import Step
from torch import Tensor, nn
from torch.nn import functional as F


class Attention(nn.Module):
    """``x`` attends to ``memory``; where ``hidden`` is true, it may not look."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, hidden: Tensor | None = None) -> Tensor:
        q, k, v = (y.unflatten(2, (self.heads, -1)).transpose(1, 2) for y in (self.q(x), self.k(memory), self.v(memory)))
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        if hidden is not None:
            scores = scores.masked_fill(hidden, -torch.inf)
        return self.out((self.dropout(scores.softmax(dim=-1)) @ v).transpose(1, 2).flatten(2))


class FeedForward(nn.Sequential):
    def __init__(self, width: int, inner: int, dropout: float) -> None:
        super().__init__(nn.Linear(width, inner), nn.ReLU(), nn.Dropout(dropout), nn.Linear(inner, width))


class EncoderLayer(nn.Module):
    def __init__(self, width: int, heads: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.ln1, self.attention = nn.LayerNorm(width), Attention(width, heads, dropout)
        self.ln2, self.ffn = nn.LayerNorm(width), FeedForward(width, inner, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        y = self.ln1(x)
        x = x + self.dropout(self.attention(y, y))
        return x + self.dropout(self.ffn(self.ln2(x)))


class DecoderLayer(nn.Module):
    def __init__(self, width: int, heads: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.ln1, self.attention = nn.LayerNorm(width), Attention(width, heads, dropout)
        self.ln2, self.cross = nn.LayerNorm(width), Attention(width, heads, dropout)
        self.ln3, self.ffn = nn.LayerNorm(width), FeedForward(width, inner, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor, future: Tensor) -> Tensor:
        y = self.ln1(x)
        x = x + self.dropout(self.attention(y, y, future))
        x = x + self.dropout(self.cross(self.ln2(x), memory))
        return x + self.dropout(self.ffn(self.ln3(x)))


def sinusoids(length: int, width: int) -> Tensor:
    """The fixed encoding of positions, [length, width]."""
    angle = torch.arange(length)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    return torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1)


class Transformer(nn.Module):
    """Source and target tokens [batch, length] -> logits [batch, length, vocabulary]."""

    future: Tensor
    positions: Tensor

    def __init__(self, layers: int, width: int, heads: int, inner: int, vocabulary: int, length: int, dropout: float) -> None:
        super().__init__()
        self.scale = math.sqrt(width)
        self.source, self.target = nn.Embedding(vocabulary, width), nn.Embedding(vocabulary, width)
        for embedding in (self.source, self.target):
            nn.init.normal_(embedding.weight, std=1 / self.scale)
        self.register_buffer("positions", sinusoids(length, width))
        self.register_buffer("future", torch.ones(length, length, dtype=torch.bool).triu(1))
        self.encoder = nn.Sequential(*(EncoderLayer(width, heads, inner, dropout) for _ in range(layers)), nn.LayerNorm(width))
        self.decoder = nn.ModuleList(DecoderLayer(width, heads, inner, dropout) for _ in range(layers))
        self.ln = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        memory = self.encoder(self.dropout(self.source(source) * self.scale + self.positions))
        x = self.dropout(self.target(target) * self.scale + self.positions)
        for layer in self.decoder:
            x = layer(x, memory, self.future)
        return F.linear(self.ln(x), self.target.weight)


def loss(model: nn.Module, source: Tensor, target: Tensor, labels: Tensor) -> Tensor:
    """Cross entropy with smoothed labels."""
    return F.cross_entropy(model(source, target).flatten(0, 1), labels.flatten(), label_smoothing=0.1)


def step(layers: int = 24, width: int = 1024, heads: int = 16, inner: int = 4096, vocabulary: int = 32000, length: int = 64, batch: int = 32,
         dropout: float = 0.1) -> Step:
    """``layers``: of the encoder, and of the decoder; ``inner``: width inside the feed-forward part."""
    model = Transformer(layers, width, heads, inner, vocabulary, length, dropout)
    source, target, labels = (torch.randint(vocabulary, (batch, length)) for _ in range(3))
    return Step(model, loss, inputs=(source, target, labels),
                optimizer=lambda parameters: torch.optim.Adam(parameters, lr=1e-4, betas=(0.9, 0.98), eps=1e-9))


SMALL: dict[str, Any] = dict(layers=2, width=32, heads=4, inner=64, vocabulary=100, length=8, batch=4)


def small() -> Step:
    """The same, for a test on a CPU."""
    return step(**SMALL)
