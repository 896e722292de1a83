"""A mixture of experts: in every other layer each token goes to its two best experts, which take a fixed number of tokens, so no shape depends on data."""

from __future__ import annotations

import math
from typing import Any

import torch
from pardnn.capture_torch import Step
from torch import Tensor, nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, future: Tensor) -> Tensor:
        q, k, v = self.qkv(x).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])).masked_fill(future, -torch.inf)
        return self.out((scores.softmax(dim=-1) @ v).transpose(1, 2).flatten(2))


class FeedForward(nn.Sequential):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width))


class Experts(nn.Module):
    """A row of ``capacity`` tokens for each expert; who comes when it is full gets no answer from this expert."""

    def __init__(self, width: int, inner: int, experts: int, chosen: int, capacity: int) -> None:
        super().__init__()
        self.chosen, self.capacity = chosen, capacity
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(FeedForward(width, inner) for _ in range(experts))

    def places(self, choice: Tensor) -> Tensor:
        """Where each (choice, token) goes among experts * capacity places: first choices first; the place behind the last if its expert is full."""
        taken = F.one_hot(choice.t().flatten(), len(self.experts))
        place = (taken.cumsum(dim=0) * taken).sum(dim=1) - 1
        full = place >= self.capacity
        return (choice.t().flatten() * self.capacity + place).masked_fill(full, len(self.experts) * self.capacity)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        tokens = x.flatten(0, 1)
        share = self.gate(tokens).softmax(dim=1)
        weight, choice = share.topk(self.chosen, dim=1)
        weight = weight / weight.sum(dim=1, keepdim=True)
        place = self.places(choice)
        rows = tokens.new_zeros(len(self.experts) * self.capacity + 1, tokens.shape[1])
        rows = rows.index_add(0, place, tokens.repeat(self.chosen, 1))[:-1]
        answers = [expert(row) for expert, row in zip(self.experts, rows.split(self.capacity))]
        answers.append(tokens.new_zeros(1, tokens.shape[1]))
        y = torch.cat(answers).index_select(0, place).unflatten(0, (self.chosen, -1))
        first = F.one_hot(choice[:, 0], len(self.experts)).to(share.dtype)
        balance = len(self.experts) * (first.mean(dim=0) * share.mean(dim=0)).sum()
        return (y * weight.t().unsqueeze(2)).sum(dim=0).view_as(x), balance


class Block(nn.Module):
    def __init__(self, width: int, heads: int, ffn: nn.Module) -> None:
        super().__init__()
        self.ln1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.ln2, self.ffn = nn.LayerNorm(width), ffn

    def forward(self, x: Tensor, future: Tensor) -> tuple[Tensor, Tensor | None]:
        x = x + self.attention(self.ln1(x), future)
        answer = self.ffn(self.ln2(x))
        y, balance = answer if isinstance(answer, tuple) else (answer, None)
        return x + y, balance


class Moe(nn.Module):
    """Tokens [batch, length] -> logits [batch, length, vocabulary], and how unevenly the experts are used (1 is even)."""

    future: Tensor

    def __init__(self, layers: int, width: int, heads: int, inner: int, experts: int, chosen: int, capacity: int, vocabulary: int, length: int) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        nn.init.normal_(self.wte.weight, std=0.02)
        self.register_buffer("future", torch.ones(length, length, dtype=torch.bool).triu(1), persistent=False)
        self.layers = nn.ModuleList(
            Block(width, heads, Experts(width, inner, experts, chosen, capacity) if i % 2 else FeedForward(width, inner)) for i in range(layers))
        self.ln = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        balances = []
        for layer in self.layers:
            x, balance = layer(x, self.future)
            if balance is not None:
                balances.append(balance)
        return self.head(self.ln(x)), torch.stack(balances).mean()


def loss(model: nn.Module, tokens: Tensor, targets: Tensor) -> Tensor:
    """Mean cross entropy of the next words, and a little for using the experts unevenly."""
    logits, balance = model(tokens)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten()) + 0.01 * balance


def capacity(tokens: int, experts: int, chosen: int, slack: float) -> int:
    """Places of an expert: an even share of all choices, and ``slack`` times that."""
    return math.ceil(slack * tokens * chosen / experts)


def step(layers: int = 24, width: int = 1024, heads: int = 16, inner: int = 4096, experts: int = 8, chosen: int = 2, slack: float = 1.25,
         vocabulary: int = 32000, length: int = 512, batch: int = 8, micro_batches: int = 1) -> Step:
    """``micro_batches`` tells how many the batch will be split into, since an expert's places are for one of them."""
    places = capacity(batch // micro_batches * length, experts, chosen, slack)
    model = Moe(layers, width, heads, inner, experts, chosen, places, vocabulary, length)
    tokens, targets = (torch.randint(vocabulary, (batch, length)) for _ in range(2))
    return Step(model, loss, inputs=(tokens, targets),
                optimizer=lambda parameters: torch.optim.AdamW(parameters, lr=1e-4, weight_decay=0.01), clip=1.0)


SMALL: dict[str, Any] = dict(layers=2, width=32, heads=4, inner=64, experts=4, vocabulary=100, length=8, batch=4)


def small() -> Step:
    """The same, for a test on a CPU."""
    return step(**SMALL)
