"""E3D-LSTM of the paper (eidetic 3-D LSTM): cells of 3-D convolutions that recall all their earlier states by attention predict the frames of a video."""

from __future__ import annotations

from typing import Any

import torch
from pardnn.capture_torch import Step
from torch import Tensor, nn
from torch.nn import functional as F


class SameConvolution(nn.Conv3d):
    """Zeros around the input so that the output has its shape; behind it one more than before it where the kernel is even."""

    def forward(self, input: Tensor) -> Tensor:
        padding = [n for k in reversed(self.kernel_size) for n in ((k - 1) // 2, k // 2)]
        return super().forward(F.pad(input, padding))


class Convolution(nn.Sequential):
    """A convolution, and a layer norm over all elements of a sample."""

    def __init__(self, inputs: int, outputs: int, kernel: tuple[int, int, int], shape: tuple[int, int, int]) -> None:
        super().__init__(SameConvolution(inputs, outputs, kernel), nn.LayerNorm((outputs, *shape)))


def recall(query: Tensor, history: list[Tensor]) -> Tensor:
    """Attention of ``query`` [batch, channels, depth, height, width] to all positions of earlier cell states."""
    q = query.flatten(2).transpose(1, 2)
    keys = torch.cat([h.flatten(2) for h in history], dim=2)
    return (torch.bmm(q, keys).softmax(dim=2) @ keys.transpose(1, 2)).transpose(1, 2).reshape(query.shape)


class Cell(nn.Module):
    """Four gates of its own memory, three of the memory that runs through all layers."""

    def __init__(self, inputs: int, hidden: int, kernel: tuple[int, int, int], shape: tuple[int, int, int]) -> None:
        super().__init__()
        self.from_x = Convolution(inputs, 7 * hidden, kernel, shape)
        self.from_h = Convolution(hidden, 4 * hidden, kernel, shape)
        self.from_m = Convolution(hidden, 4 * hidden, kernel, shape)
        self.ln = nn.LayerNorm((hidden, *shape))
        self.output_c, self.output_m = (SameConvolution(hidden, hidden, kernel) for _ in range(2))
        self.joined = nn.Conv3d(2 * hidden, hidden, 1)

    def forward(self, x: Tensor, output: Tensor, history: list[Tensor], memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        i_x, g_x, r_x, o_x, im_x, gm_x, fm_x = self.from_x(x).chunk(7, dim=1)
        i_h, g_h, r_h, o_h = self.from_h(output).chunk(4, dim=1)
        i_m, g_m, f_m, m_m = self.from_m(memory).chunk(4, dim=1)
        recalled = self.ln(history[-1] + recall(torch.sigmoid(r_x + r_h), history))
        cell = recalled + torch.sigmoid(i_x + i_h) * torch.tanh(g_x + g_h)
        memory = torch.sigmoid(fm_x + f_m + 1.0) * torch.tanh(m_m) + torch.sigmoid(im_x + i_m) * torch.tanh(gm_x + g_m)
        gate = torch.sigmoid(o_x + o_h + self.output_c(cell) + self.output_m(memory))
        return gate * torch.tanh(self.joined(torch.cat([cell, memory], dim=1))), cell, memory


class E3dLstm(nn.Module):
    """Frames [batch, given, channels, height, width] -> the next ``predicted`` frames, in the same form. Predicted frames are read as given ones are."""

    def __init__(self, layers: int, hidden: int, channels: int, window: int, size: int, predicted: int, kernel: tuple[int, int, int]) -> None:
        super().__init__()
        self.hidden, self.window, self.predicted = hidden, window, predicted
        shape = (window, size, size)
        self.cells = nn.ModuleList(Cell(hidden if i else channels, hidden, kernel, shape) for i in range(layers))
        self.frame = nn.Conv3d(hidden, channels, (window, 1, 1))

    def forward(self, frames: Tensor) -> Tensor:
        seen = list(frames.unbind(dim=1))
        zero = seen[0].new_zeros(len(frames), self.hidden, self.window, *frames.shape[3:])
        outputs, memory = [zero for _ in self.cells], zero
        histories = [[zero] for _ in self.cells]
        predictions = []
        for t in range(self.window - 1, frames.shape[1] + self.predicted - 1):
            x = torch.stack(seen[t - self.window + 1:t + 1], dim=2)
            for i, cell in enumerate(self.cells):
                x, state, memory = cell(x, outputs[i], histories[i], memory)
                outputs[i] = x
                histories[i].append(state)
            prediction = self.frame(x).squeeze(2)
            predictions.append(prediction)
            if t >= frames.shape[1] - 1:
                seen.append(prediction)
        return torch.stack(predictions, dim=1)


def loss(model: nn.Module, given: Tensor, frames: Tensor) -> Tensor:
    """Squares and absolute values, as its authors do; ``frames``: what was to be predicted."""
    predictions = model(given)
    return F.mse_loss(predictions, frames) + F.l1_loss(predictions, frames)


def step(layers: int = 4, hidden: int = 64, channels: int = 16, window: int = 2, size: int = 16, given: int = 10, predicted: int = 10,
         kernel: tuple[int, int, int] = (2, 5, 5), batch: int = 4) -> Step:
    """Moving MNIST: frames of 64 x 64 in patches of 4 x 4 are 16 channels of 16 x 16. ``window``: frames that a cell sees at once."""
    model = E3dLstm(layers, hidden, channels, window, size, predicted, kernel)
    video = torch.rand(batch, given + predicted, channels, size, size)
    return Step(model, loss, inputs=(video[:, :given], video[:, window:]), optimizer=lambda p: torch.optim.Adam(p, lr=1e-3))


SMALL: dict[str, Any] = dict(layers=2, hidden=4, channels=2, size=4, given=3, predicted=2, kernel=(2, 3, 3), batch=2)


def small() -> Step:
    """The same, for a test on a CPU."""
    return step(**SMALL)
