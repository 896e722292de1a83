"""Random numbers that do not depend on the order of operations: each random call draws from a generator seeded by (seed, step, its number)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .errors import CaptureError, user_line
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


class RandomCalls:
    """Numbers the random calls of a step: 0, 1, ..."""

    def __init__(self) -> None:
        self.next = 0

    def take(self) -> int:
        """The number of the call that comes now."""
        self.next += 1
        return self.next - 1


class _State(int):
    """What stands for the generator's state inside a step whose random calls are numbered."""


@contextmanager
def numbered(calls: RandomCalls) -> Iterator[None]:
    """While inside, the state of the default generator is the number of the next random call.

    So what saves and restores the state, as activation checkpoints do before they compute a forward pass again, gets the same numbers again.
    """
    def get() -> _State:
        return _State(calls.next)

    def put(state: Any) -> None:
        if not isinstance(state, _State):
            raise CaptureError(f"{user_line()}: the generator's state is set to one from outside the step; its random calls are seeded one by one")
        calls.next = int(state)

    with patch.object(torch, "get_rng_state", get), patch.object(torch, "set_rng_state", put):
        yield


@contextmanager
def seeded_step(seed: int, step: int) -> Iterator[None]:
    """A plain eager step run inside draws the same random numbers as the replay of its program with the same seed and step.

    The default CPU generator is as before afterwards.
    """
    state = torch.default_generator.get_state()
    try:
        calls = RandomCalls()
        with numbered(calls), _Reseeding(seed, step, calls):
            yield
    finally:
        torch.default_generator.set_state(state)


class _Reseeding(TorchDispatchMode):
    def __init__(self, seed: int, step: int, calls: RandomCalls) -> None:
        super().__init__()
        self._seed = seed
        self._step = step
        self._calls = calls

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if describe(func).random:
            reseed(op_seed(self._seed, self._step, self._calls.take()), random_device(args, kwargs))
        return func(*args, **kwargs)


def random_device(args: Any, kwargs: Any) -> torch.device:
    """The device whose generator a call draws from: that of its first tensor, else the one it is told."""
    for value in args:
        if isinstance(value, torch.Tensor):
            return value.device
    return torch.device(kwargs.get("device") or "cpu")
