"""Word-RNN of the paper: a word-level language model, eight layers of LSTM cells unrolled over time, trained with Adam and clipped gradients."""

from __future__ import annotations

from typing import Any

import torch
from pardnn.capture_torch import Step
from torch import Tensor, nn
from torch.nn import functional as F


class LstmCell(nn.Module):
    """One matrix product on [input, output] of all four gates."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.gates = nn.Linear(inputs + hidden, 4 * hidden)

    def forward(self, x: Tensor, output: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        i, g, f, o = self.gates(torch.cat([x, output], dim=1)).chunk(4, dim=1)
        cell = cell * torch.sigmoid(f + 1.0) + torch.sigmoid(i) * torch.tanh(g)
        return torch.tanh(cell) * torch.sigmoid(o), cell


class WordRnn(nn.Module):
    """Tokens [batch, length] -> logits [batch, length, vocabulary]."""

    def __init__(self, layers: int, hidden: int, vocabulary: int, dropout: float) -> None:
        super().__init__()
        self.hidden = hidden
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.cells = nn.ModuleList(LstmCell(hidden, hidden) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)
        self.softmax = nn.Linear(hidden, vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        embedded = self.dropout(self.embedding(tokens))
        zero = embedded.new_zeros(len(tokens), self.hidden)
        states = [(zero, zero) for _ in self.cells]
        outputs = []
        for x in embedded.unbind(dim=1):
            for i, cell in enumerate(self.cells):
                states[i] = cell(x, *states[i])
                x = states[i][0]
            outputs.append(self.dropout(x))
        return self.softmax(torch.stack(outputs, dim=1))


def loss(model: nn.Module, tokens: Tensor, targets: Tensor) -> Tensor:
    """Mean cross entropy of the next words."""
    return F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())


def step(layers: int = 8, hidden: int = 2048, length: int = 28, vocabulary: int = 25670, batch: int = 64, dropout: float = 0.1) -> Step:
    """Sizes of Table 3 of the paper (its Word-RNN-2: hidden=4096, length=25)."""
    model = WordRnn(layers, hidden, vocabulary, dropout)
    tokens, targets = (torch.randint(vocabulary, (batch, length)) for _ in range(2))
    return Step(model, loss, inputs=(tokens, targets),
                optimizer=lambda parameters: torch.optim.Adam(parameters, lr=2e-3), clip=5.0)


SMALL: dict[str, Any] = dict(layers=2, hidden=32, length=5, vocabulary=100, batch=4)


def small() -> Step:
    """The same, for a test on a CPU."""
    return step(**SMALL)
