"""Char-CRN of the paper: words are read as characters (convolutions of seven widths, two highway layers), then eight layers of LSTM cells; plain SGD."""

from __future__ import annotations

from typing import Any

import torch
from pardnn.capture_torch import Step
from torch import Tensor, nn
from torch.nn import functional as F

WIDTHS = (1, 2, 3, 4, 5, 6, 7)
"""Characters that a filter sees."""
FILTERS = (50, 100, 150, 200, 200, 200, 200)
"""How many of each width."""


class WordEncoder(nn.Module):
    """Characters [words, length] -> one vector per word: each filter's greatest response."""

    def __init__(self, characters: int, embedding: int, scale: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, embedding)
        filters = [round(n * scale) for n in FILTERS]
        self.convolutions = nn.ModuleList(nn.Conv1d(embedding, n, width) for width, n in zip(WIDTHS, filters))
        self.features = sum(filters)

    def forward(self, characters: Tensor) -> Tensor:
        x = self.embedding(characters).transpose(1, 2)
        return torch.cat([torch.tanh(convolution(x)).amax(dim=2) for convolution in self.convolutions], dim=1)


class Highway(nn.Module):
    """A gate decides how much of the input passes unchanged."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.transform = nn.Linear(features, features)
        self.gate = nn.Linear(features, features)

    def forward(self, x: Tensor) -> Tensor:
        gate = torch.sigmoid(self.gate(x) - 2.0)
        return gate * torch.relu(self.transform(x)) + (1 - gate) * x


class LstmCell(nn.Module):
    """One matrix product on [input, output] of all four gates."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.gates = nn.Linear(inputs + hidden, 4 * hidden)

    def forward(self, x: Tensor, output: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        i, g, f, o = self.gates(torch.cat([x, output], dim=1)).chunk(4, dim=1)
        cell = cell * torch.sigmoid(f) + torch.sigmoid(i) * torch.tanh(g)
        return torch.tanh(cell) * torch.sigmoid(o), cell


class CharCrn(nn.Module):
    """Characters [batch, length, characters of a word] -> logits of the next words [batch, length, vocabulary]."""

    def __init__(self, layers: int, hidden: int, vocabulary: int, characters: int, embedding: int, scale: float, dropout: float) -> None:
        super().__init__()
        self.hidden = hidden
        self.encoder = WordEncoder(characters, embedding, scale)
        features = self.encoder.features
        self.highway = nn.Sequential(Highway(features), Highway(features))
        self.cells = nn.ModuleList(LstmCell(hidden if i else features, hidden) for i in range(layers))
        self.dropout = nn.Dropout(dropout)
        self.softmax = nn.Linear(hidden, vocabulary)

    def forward(self, characters: Tensor) -> Tensor:
        words = self.highway(self.encoder(characters.flatten(0, 1))).unflatten(0, characters.shape[:2])
        zero = words.new_zeros(len(words), self.hidden)
        states = [(zero, zero) for _ in self.cells]
        outputs = []
        for x in words.unbind(dim=1):
            for i, cell in enumerate(self.cells):
                states[i] = cell(x, *states[i])
                x = self.dropout(states[i][0])
            outputs.append(x)
        return self.softmax(torch.stack(outputs, dim=1))


def loss(model: nn.Module, words: Tensor, targets: Tensor) -> Tensor:
    """Mean cross entropy of the next words."""
    return F.cross_entropy(model(words).flatten(0, 1), targets.flatten())


def step(layers: int = 8, hidden: int = 2048, length: int = 35, word: int = 21, vocabulary: int = 10000, characters: int = 51, embedding: int = 15,
         scale: float = 1.0, batch: int = 20, dropout: float = 0.5) -> Step:
    """Sizes of Table 3 of the paper (its Char-CRN-2: layers=32). ``word``: characters of a padded word; ``scale``: of the numbers of filters."""
    model = CharCrn(layers, hidden, vocabulary, characters, embedding, scale, dropout)
    words = torch.randint(characters, (batch, length, word))
    targets = torch.randint(vocabulary, (batch, length))
    return Step(model, loss, inputs=(words, targets),
                optimizer=lambda parameters: torch.optim.SGD(parameters, lr=1.0), clip=5.0)


SMALL: dict[str, Any] = dict(layers=2, hidden=24, length=4, word=9, vocabulary=50, characters=20, embedding=5, scale=0.04, batch=4)


def small() -> Step:
    """The same, for a test on a CPU."""
    return step(**SMALL)
