"""Modules and optimizers without data: their tensors are replaced by fake ones while a step is captured, and put back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses import FakeTensor, FakeTensorMode


class Faker:
    """Makes fake tensors with the geometry of given ones; storages that are shared stay shared."""

    def __init__(self, mode: FakeTensorMode, device: str) -> None:
        self._mode = mode
        self._device = device
        self._storages: dict[int, tuple[Any, torch.Tensor]] = {}
        self._tensors: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        known = self._tensors.get(id(tensor))
        if known is not None:
            return known[1]
        fake = self._like(tensor)
        if isinstance(tensor, torch.nn.Parameter):
            fake = torch.nn.Parameter(fake, requires_grad=tensor.requires_grad)
        self._tensors[id(tensor)] = (tensor, fake)
        return fake

    def originals(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """(given tensor, fake tensor) of all that were made."""
        return iter(self._tensors.values())

    def _like(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        with self._mode, torch.no_grad():
            known = self._storages.get(storage._cdata)
            if known is None:
                base = torch.empty(storage.nbytes(), dtype=torch.uint8, device=self._device)
                known = self._storages[storage._cdata] = (storage, base)
            base = known[1] if tensor.dtype == torch.uint8 else known[1].view(tensor.dtype)
            return torch.as_strided(base, tensor.shape, tensor.stride(), tensor.storage_offset())


def mode_of(modules: Sequence[torch.nn.Module]) -> FakeTensorMode:
    """The mode under which the modules were built, or a new one."""
    for module in modules:
        for tensor in (*module.parameters(), *module.buffers()):
            if isinstance(tensor, FakeTensor):
                return tensor.fake_mode
    return FakeTensorMode(allow_non_fake_inputs=True)


@contextmanager
def faked(modules: Sequence[torch.nn.Module], optimizers: Sequence[torch.optim.Optimizer], faker: Faker) -> Iterator[None]:
    """While inside, parameters, buffers and optimizer state are fake; the real ones are untouched and come back after."""
    undo: list[Any] = []
    try:
        for module in dict.fromkeys(m for root in modules for m in root.modules()):
            undo.append((vars(module), dict(vars(module))))
            for table in (module._parameters, module._buffers):
                undo.append((table, dict(table)))
                for key, tensor in table.items():
                    if tensor is not None:
                        table[key] = faker(tensor)  # type: ignore[assignment]
        for optimizer in optimizers:
            undo.append((optimizer, [list(g["params"]) for g in optimizer.param_groups], dict(optimizer.state)))
            _fake_optimizer(optimizer, faker)
        yield
    finally:
        for entry in reversed(undo):
            if len(entry) == 2:
                entry[0].clear()
                entry[0].update(entry[1])
            else:
                optimizer, groups, state = entry
                for group, params in zip(optimizer.param_groups, groups):
                    group["params"] = params
                optimizer.state.clear()
                optimizer.state.update(state)


def _fake_optimizer(optimizer: torch.optim.Optimizer, faker: Faker) -> None:
    state = {p: {k: faker(v) if isinstance(v, torch.Tensor) else v for k, v in s.items()} for p, s in optimizer.state.items()}
    for group in optimizer.param_groups:
        group["params"] = [faker(p) for p in group["params"]]
    optimizer.state.clear()
    for parameter, values in state.items():
        optimizer.state[faker(parameter)] = values
