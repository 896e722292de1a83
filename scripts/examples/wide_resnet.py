"""WRN of the paper: a wide residual network on 32 x 32 images (batch norm and ReLU before each convolution), SGD with Nesterov momentum."""

from __future__ import annotations

from typing import Any

import torch
from pardnn.capture_torch import Step
from torch import Tensor, nn
from torch.nn import functional as F


class Unit(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut, which is a 1 x 1 convolution where the shape changes."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False) if inputs != outputs or stride != 1 else None

    def forward(self, x: Tensor) -> Tensor:
        active = torch.relu(self.bn1(x))
        y = self.conv2(torch.relu(self.bn2(self.conv1(active))))
        return y + (x if self.shortcut is None else self.shortcut(active))


class WideResNet(nn.Module):
    """Images [batch, 3, size, size] -> logits [batch, classes]. Three groups of ``units`` units, 16, 32 and 64 times ``widening`` channels."""

    def __init__(self, units: int, widening: int, classes: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        layers, inputs = [], 16
        for group in range(3):
            outputs = 16 * 2**group * widening
            for unit in range(units):
                layers.append(Unit(inputs, outputs, stride=2 if group and not unit else 1))
                inputs = outputs
        self.units = nn.Sequential(*layers)
        self.bn = nn.BatchNorm2d(inputs)
        self.classifier = nn.Linear(inputs, classes)

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(torch.relu(self.bn(self.units(self.stem(images)))).mean(dim=(2, 3)))


def loss(model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(model(images), labels)


def step(units: int = 101, widening: int = 14, size: int = 32, classes: int = 10, batch: int = 16) -> Step:
    """The largest of the paper, of 1.91 billion parameters. ``units``: residual units of each of the three groups."""
    model = WideResNet(units, widening, classes)
    images, labels = torch.randn(batch, 3, size, size), torch.randint(classes, (batch,))
    return Step(model, loss, inputs=(images, labels),
                optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4))


SMALL: dict[str, Any] = dict(units=2, widening=1, size=16, batch=4)


def small() -> Step:
    """The same, for a test on a CPU."""
    return step(**SMALL)
