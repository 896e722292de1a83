"""Optimizers in the form that is captured: step counters as tensors on the device, one call per parameter."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

if TYPE_CHECKING:
    import torch

_FORM = {"foreach": False, "fused": False, "capturable": True}
_CHECK = "_get_capturable_supported_devices"


@contextmanager
def capturable(optimizers: Sequence[torch.optim.Optimizer]) -> Iterator[None]:
    """While inside, the optimizers compute as a captured step does; their settings come back after.

    ``capturable=True``: bias corrections are computed from a step counter that is a tensor, so that one program is right at every step. torch
    refuses that for CPU tensors; the check is lifted here. ``foreach=False, fused=False``: every parameter is updated by operations of its own.
    ``nn.LSTM`` runs as cells (on CPU it is otherwise one oneDNN operation, whose workspace is opaque). A plain run that shall equal a captured one
    to the last bit has to run inside as well.
    """
    from torch.nn.modules import rnn

    saved = [(group, {k: group[k] for k in _FORM if k in group}) for o in optimizers for group in o.param_groups]
    for group, old in saved:
        group.update({k: _FORM[k] for k in old})
    patches: list[Any] = [patch.object(module, _CHECK, _any_device) for name, module in sorted(sys.modules.items())
               if name.startswith("torch.optim.") and hasattr(module, _CHECK)]
    patches.append(patch.object(rnn._VF, "lstm", _lstm_of_cells, create=True))
    for p in patches:
        p.start()
    try:
        yield
    finally:
        for p in patches:
            p.stop()
        for group, old in saved:
            group.update(old)


def _lstm_of_cells(*args: Any) -> Any:
    import torch

    before = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        return torch._C._VariableFunctions.lstm(*args)
    finally:
        torch._C._set_mkldnn_enabled(before)


def _any_device(supports_xla: bool = True) -> list[str]:
    return ["cpu", "cuda", "xpu", "hpu", "xla", "meta"]


def state_slots(optimizer: torch.optim.Optimizer) -> Iterator[tuple[Any, int, str, torch.Tensor]]:
    """(parameter, its number in ``state_dict()``, key, tensor) for every tensor of the optimizer's state."""
    import torch

    number = 0
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            for key, value in optimizer.state.get(parameter, {}).items():
                if isinstance(value, torch.Tensor):
                    yield parameter, number, key, value
            number += 1


def rate_slots(optimizer: torch.optim.Optimizer) -> Iterator[tuple[int, str, torch.Tensor]]:
    """(group, key, tensor) for settings that are tensors, like a learning rate that a schedule changes in place."""
    import torch

    for index, group in enumerate(optimizer.param_groups):
        for key, value in group.items():
            if isinstance(value, torch.Tensor):
                yield index, key, value
