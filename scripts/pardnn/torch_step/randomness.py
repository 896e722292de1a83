"""Random numbers that do not depend on the order of operations: each random call draws from a generator seeded by (seed, step, its number)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .operators import describe

_MASK = (1 << 64) - 1


def op_seed(seed: int, step: int, number: int) -> int:
    """63-bit seed of random call ``number`` of a step: SplitMix64 over the three (Steele, Lea, Flood, OOPSLA 2014)."""
    state = 0
    for part in (seed, step, number):
        state = (state + (part & _MASK) + 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        state ^= state >> 31
    return state >> 1


def reseed(seed: int, device: torch.device) -> None:
    """Seeds the default generator of one device."""
    if device.type == "cuda":
        torch.cuda.default_generators[device.index if device.index is not None else torch.cuda.current_device()].manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)


@contextmanager
def seeded_step(seed: int, step: int) -> Iterator[None]:
    """A plain eager step run inside draws the same random numbers as the replay of its program with the same seed and step.

    The default CPU generator is as before afterwards.
    """
    state = torch.default_generator.get_state()
    try:
        with _Reseeding(seed, step):
            yield
    finally:
        torch.default_generator.set_state(state)


class _Reseeding(TorchDispatchMode):
    def __init__(self, seed: int, step: int) -> None:
        super().__init__()
        self._seed = seed
        self._step = step
        self._number = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if describe(func).random:
            reseed(op_seed(self._seed, self._step, self._number), random_device(args, kwargs))
            self._number += 1
        return func(*args, **kwargs)


def random_device(args: Any, kwargs: Any) -> torch.device:
    """The device whose generator a call draws from: that of its first tensor, else the one it is told."""
    for value in args:
        if isinstance(value, torch.Tensor):
            return value.device
    return torch.device(kwargs.get("device") or "cpu")
