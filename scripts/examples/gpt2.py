"""GPT-2 XL: a decoder-only Transformer with learned positions, the output layer tied to the embedding; AdamW and clipped gradients."""

from __future__ import annotations

import math
from typing import Any

import torch
from pardnn.capture_torch import Step
from torch import Tensor, nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, future: Tensor) -> Tensor:
        q, k, v = self.qkv(x).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])).masked_fill(future, -torch.inf)
        return self.out((self.dropout(scores.softmax(dim=-1)) @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.ln1, self.attention = nn.LayerNorm(width), Attention(width, heads, dropout)
        self.ln2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, future: Tensor) -> Tensor:
        x = x + self.dropout(self.attention(self.ln1(x), future))
        return x + self.dropout(self.mlp(self.ln2(x)))


class Gpt2(nn.Module):
    """Tokens [batch, length] -> logits [batch, length, vocabulary]."""

    future: Tensor

    def __init__(self, layers: int, width: int, heads: int, vocabulary: int, length: int, dropout: float) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        nn.init.normal_(self.wte.weight, std=0.02)
        self.register_buffer("future", torch.ones(length, length, dtype=torch.bool).triu(1), persistent=False)
        self.h = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.ln = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.dropout(self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device)))
        for block in self.h:
            x = block(x, self.future)
        return self.lm_head(self.ln(x))


def loss(model: nn.Module, tokens: Tensor, targets: Tensor) -> Tensor:
    """Mean cross entropy of the next words."""
    return F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())


def step(layers: int = 48, width: int = 1600, heads: int = 25, vocabulary: int = 50257, length: int = 1024, batch: int = 8, dropout: float = 0.1) -> Step:
    """GPT-2 XL; layers=12, width=768, heads=12 is the small one."""
    model = Gpt2(layers, width, heads, vocabulary, length, dropout)
    tokens, targets = (torch.randint(vocabulary, (batch, length)) for _ in range(2))
    return Step(model, loss, inputs=(tokens, targets),
                optimizer=lambda parameters: torch.optim.AdamW(parameters, lr=2.5e-4, weight_decay=0.01), clip=1.0)


SMALL: dict[str, Any] = dict(layers=2, width=32, heads=4, vocabulary=100, length=16, batch=4)


def small() -> Step:
    """The same, for a test on a CPU."""
    return step(**SMALL)
