"""A Llama-like model of 70 billion parameters: RMS norm, rotary positions, grouped-query attention, SwiGLU; AdamW and clipped gradients."""

from __future__ import annotations

from typing import Any

import torch
from pardnn.capture_torch import Step
from torch import Tensor, nn
from torch.nn import functional as F


class RmsNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-5) * self.weight


def rotary_angles(length: int, head: int, base: float = 500000.0) -> Tensor:
    """Angle of each position and each pair of a head's elements, [length, head / 2]."""
    return torch.arange(length)[:, None] * base ** (-torch.arange(0, head, 2) / head)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turns the pairs (i, i + head / 2) of [batch, heads, length, head]."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class Attention(nn.Module):
    """``groups`` heads of keys and values, each shared by heads / groups heads of queries."""

    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.head = width // heads
        self.shared = heads // groups
        self.q = nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, groups * self.head, bias=False) for _ in range(2))
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        q, k, v = (y.unflatten(2, (-1, self.head)).transpose(1, 2) for y in (self.q(x), self.k(x), self.v(x)))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k, v = (y[:, :, None].expand(-1, -1, self.shared, -1, -1).flatten(1, 2) for y in (k, v))
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class SwiGlu(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, groups: int, inner: int) -> None:
        super().__init__()
        self.norm1, self.attention = RmsNorm(width), Attention(width, heads, groups)
        self.norm2, self.mlp = RmsNorm(width), SwiGlu(width, inner)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x), cos, sin)
        return x + self.mlp(self.norm2(x))


class Llama(nn.Module):
    """Tokens [batch, length] -> logits [batch, length, vocabulary]."""

    cos: Tensor
    sin: Tensor

    def __init__(self, layers: int, width: int, heads: int, groups: int, inner: int, vocabulary: int, length: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        angles = rotary_angles(length, width // heads)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        self.layers = nn.ModuleList(Block(width, heads, groups, inner) for _ in range(layers))
        self.norm = RmsNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return self.head(self.norm(x))


def loss(model: nn.Module, tokens: Tensor, targets: Tensor) -> Tensor:
    """Mean cross entropy of the next words."""
    return F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())


def step(layers: int = 80, width: int = 8192, heads: int = 64, groups: int = 8, inner: int = 28672, vocabulary: int = 128256, length: int = 4096,
         batch: int = 1, dtype: str = "bfloat16") -> Step:
    """Sizes of a 70B model. ``dtype``: of parameters, gradients, moments and activations."""
    model = Llama(layers, width, heads, groups, inner, vocabulary, length).to(getattr(torch, dtype))
    tokens, targets = (torch.randint(vocabulary, (batch, length)) for _ in range(2))
    return Step(model, loss, inputs=(tokens, targets),
                optimizer=lambda parameters: torch.optim.AdamW(parameters, lr=1.5e-4, betas=(0.9, 0.95), weight_decay=0.1), clip=1.0)


SMALL: dict[str, Any] = dict(layers=2, width=32, heads=4, groups=2, inner=56, vocabulary=100, length=16, batch=4, dtype="float32")


def small() -> Step:
    """The same, for a test on a CPU."""
    return step(**SMALL)
