"""One step over each of many kinds of layers and idioms: (module, inputs) by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


class Does(nn.Module):
    """A function of modules and inputs as a module."""

    def __init__(self, function: Callable[..., Tensor], *modules: nn.Module) -> None:
        super().__init__()
        self.function = function
        self.inner = nn.ModuleList(modules)

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.function(self.inner, *inputs)


class Average(nn.Module):
    """A running average in buffers, updated in place in the forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("steps", torch.tensor(0))

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
            self.steps += 1
        return x - self.mean.clone()


def slices_in_place(m: Any, x: Tensor) -> Tensor:
    y, z = m[0](x), torch.zeros(6, 4)
    z[1:3] = y[0:2]
    z[:, 2] += y[:, 1]
    rows = torch.tensor([0, 3, 3])
    z = z.index_add(0, rows, y[:3])
    z[torch.tensor([5, 4, 3])] = y[3:]
    return z.gather(1, torch.zeros(6, 2, dtype=torch.long)).scatter_add(0, torch.ones(6, 2, dtype=torch.long), y[:, :2])


def geometry_in_place(m: Any, x: Tensor) -> Tensor:
    y = m[0](x).clone()
    y.t_()
    y.mul_(2)
    y.unsqueeze_(0).squeeze_(0).transpose_(0, 1)
    return y


def old_view_after_write(m: Any, x: Tensor) -> Tensor:
    """Views that are older than a write are read after it, in several geometries."""
    y = m[0](x).detach().clone()
    row, column, flat = y[1], y[:, 2], y.view(-1)
    y.mul_(3)
    row.add_(1)
    return m[0](flat.view(2, 4) + column.sum()) + row


def mixed_precision(m: Any, x: Tensor) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return m[1](torch.relu(m[0](x))).float() + m[0](x)


def gradient_penalty(m: Any, x: Tensor) -> Tensor:
    x = x.detach().requires_grad_()
    gradient, = torch.autograd.grad(m[1](torch.tanh(m[0](x))).sum(), x, create_graph=True)
    return gradient.pow(2).sum(1)


def data_of_parameters(m: Any, x: Tensor) -> Tensor:
    y = m[0](x)
    m[0].bias.data.mul_(0.5)
    return y * m[0].weight.data.sum()


def checkpointed(m: Any, x: Tensor) -> Tensor:
    return checkpoint(lambda y: m[1](torch.relu(m[0](y))), x, use_reentrant=False)


def checkpointed_reentrant(m: Any, x: Tensor) -> Tensor:
    return checkpoint(lambda y: m[1](torch.relu(m[0](y))), m[2](x), use_reentrant=True)


def checkpointed_dropout(m: Any, x: Tensor) -> Tensor:
    y = checkpoint(lambda y: m[1](F.dropout(torch.relu(m[0](y)))), F.dropout(x, 0.2), use_reentrant=False)
    return F.dropout(checkpoint(lambda y: F.dropout(m[2](y)), y, use_reentrant=True))


def plain_dropout(m: Any, x: Tensor) -> Tensor:
    """The same without checkpoints."""
    return F.dropout(F.dropout(m[2](m[1](F.dropout(torch.relu(m[0](F.dropout(x, 0.2))))))))


def flash(m: Any, x: Tensor) -> Tensor:
    q, k, v = m[0](x).view(2, 6, 3, 2, 4).permute(2, 0, 3, 1, 4)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def complex_numbers(m: Any, x: Tensor) -> Tensor:
    """Conjugates and imaginary parts are views that compute nothing until they are read."""
    z = torch.fft.rfft(m[0](x))
    z = z * z.conj() * torch.view_as_complex(m[1].weight[:3, :2].contiguous())
    return torch.fft.irfft(z.conj(), n=4) + z.conj().imag.sum() + z.abs().sum()


def noisy(m: Any, x: Tensor) -> Tensor:
    return m[0](x + torch.randn_like(x) * 0.1 + torch.rand(2, 4) + torch.randint(0, 3, (2, 4)) + torch.randperm(4))


def constants(m: Any, x: Tensor) -> Tensor:
    return m[0](x) * torch.tensor([1.0, 2.0, float("inf"), 4.0]).clamp(max=9) + torch.arange(4) + torch.tensor(2.0).item()


def weights_in_layout(m: Any, x: Tensor) -> Tensor:
    return torch.einsum("bi,ji,bk->bjk", x, m[0].weight, x)


def _linear() -> nn.Module:
    return nn.Linear(4, 4)


def _r(*shape: int) -> Tensor:
    return torch.randn(*shape)


LAYERS: dict[str, Callable[[], tuple[nn.Module, Any]]] = {
    "lstm": lambda: (nn.LSTM(4, 5, 2, batch_first=True, dropout=0.2), _r(3, 4, 4)),
    "gru": lambda: (nn.GRU(4, 5, bidirectional=True), _r(3, 4, 4)),
    "attention": lambda: (Does(lambda m, x: m[0](x, x, x)[0], nn.MultiheadAttention(8, 2, dropout=0.1, batch_first=True)), _r(3, 6, 8)),
    "encoder": lambda: (nn.TransformerEncoderLayer(8, 2, 16), _r(3, 6, 8)),
    "conv1d": lambda: (nn.Conv1d(3, 4, 3), _r(2, 3, 8)),
    "conv3d": lambda: (nn.Conv3d(3, 4, 3), _r(2, 3, 5, 5, 5)),
    "transposed": lambda: (nn.ConvTranspose2d(3, 4, 3, stride=2), _r(2, 3, 6, 6)),
    "depthwise": lambda: (nn.Conv2d(4, 4, 3, groups=4, padding_mode="circular", padding=1), _r(2, 4, 6, 6)),
    "groupnorm": lambda: (nn.GroupNorm(2, 4), _r(2, 4, 6, 6)),
    "instancenorm": lambda: (nn.InstanceNorm2d(4, affine=True, track_running_stats=True), _r(2, 4, 6, 6)),
    "batchnorm in eval": lambda: (nn.Sequential(nn.BatchNorm1d(4).eval(), _linear()), _r(5, 4)),
    "spectral": lambda: (nn.utils.parametrizations.spectral_norm(_linear()), _r(2, 4)),
    "activations": lambda: (nn.Sequential(nn.PReLU(), nn.Hardswish(True), nn.ELU(inplace=True), nn.GLU()), _r(2, 4)),
    "random": lambda: (nn.Sequential(nn.Conv2d(3, 4, 1), nn.Dropout2d(0.5), nn.AlphaDropout(0.2), nn.RReLU()), _r(2, 3, 4, 4)),
    "noise": lambda: (Does(noisy, _linear()), _r(2, 4)),
    "pooling": lambda: (nn.Sequential(nn.Conv2d(3, 4, 1), nn.MaxPool2d(2), nn.AvgPool2d(2), nn.Upsample(scale_factor=2)), _r(2, 3, 8, 8)),
    "bag": lambda: (Does(lambda m, x: m[0](x.long().clamp(0, 4)), nn.EmbeddingBag(5, 3)), _r(2, 3)),
    "autocast": lambda: (Does(mixed_precision, _linear(), _linear()), _r(2, 4)),
    "checkpoint": lambda: (Does(checkpointed, _linear(), _linear()), _r(2, 4)),
    "reentrant checkpoint": lambda: (Does(checkpointed_reentrant, _linear(), _linear(), _linear()), _r(2, 4)),
    "checkpointed dropout": lambda: (Does(checkpointed_dropout, _linear(), _linear(), _linear()), _r(2, 4)),
    "flash attention": lambda: (Does(flash, nn.Linear(8, 24)), _r(2, 6, 8)),
    "double backward": lambda: (Does(gradient_penalty, _linear(), nn.Linear(4, 1)), _r(2, 4)),
    "complex": lambda: (Does(complex_numbers, _linear(), _linear()), _r(2, 4)),
    "einsum": lambda: (Does(weights_in_layout, _linear()), _r(2, 4)),
    "slices in place": lambda: (Does(slices_in_place, _linear()), _r(6, 4)),
    "geometry in place": lambda: (Does(geometry_in_place, _linear()), _r(2, 4)),
    "old views": lambda: (Does(old_view_after_write, _linear()), _r(2, 4)),
    "average in buffers": lambda: (nn.Sequential(_linear(), Average()), _r(2, 4)),
    "data": lambda: (Does(data_of_parameters, _linear()), _r(2, 4)),
    "frozen": lambda: (nn.Sequential(_linear().requires_grad_(False), _linear()), _r(2, 4)),
    "unused": lambda: (Does(lambda m, x: m[1](x), _linear(), _linear()), _r(2, 4)),
    "bfloat16": lambda: (_linear().bfloat16(), _r(2, 4).bfloat16()),
    "masks": lambda: (Does(lambda m, x: m[0](x).masked_fill(x > 0, 0.0).masked_fill_(x < -1, 2.0), _linear()), _r(2, 4)),
    "constants": lambda: (Does(constants, _linear()), _r(2, 4)),
    "checks": lambda: (Does(lambda m, x: torch.linalg.solve(m[0].weight + 9 * torch.eye(4), x.T).T, _linear()), _r(2, 4)),
    "sorted": lambda: (Does(lambda m, x: F.normalize(m[0](x)).sort(-1).values.cumsum(0).roll(1, 0).flip(1), _linear()), _r(2, 4)),
}
