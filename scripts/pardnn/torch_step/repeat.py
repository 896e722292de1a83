"""Whether a step is the same at each run: a program repeats what was recorded, with the numbers that Python held then."""

from __future__ import annotations

from array import array
from math import isfinite
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .data import checked
from .errors import user_line
from .operators import describe
from .values import map_args


def signature(func: Any, args: Any, kwargs: Any) -> int:
    """A hash of a call without its data: operation, numbers, shapes and types of tensors."""
    return hash((str(func), map_args(tuple(args), _leaf), tuple((k, map_args(v, _leaf)) for k, v in kwargs.items())))


def _leaf(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return (tuple(value.shape), value.dtype)
    if isinstance(value, float) and not isfinite(value):
        return repr(value)
    return value if isinstance(value, (bool, int, float, str, complex)) else str(value)


class Repeat(TorchDispatchMode):
    """Runs a step once more and compares its calls with the signatures of the recorded one. ``difference``: the first that is another, or ""."""

    def __init__(self, recorded: array[int]) -> None:
        super().__init__()
        self._recorded = recorded
        self._next = 0
        self.difference = ""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not describe(func).unseen:
            if not self.difference and (self._next >= len(self._recorded) or self._recorded[self._next] != signature(func, args, kwargs)):
                self.difference = f"{user_line()}: {describe(func).name} is not what this place did one step earlier"
            self._next += 1
        return checked(func, args, kwargs)

    def verdict(self) -> str:
        """The difference, told at the end: also a step that ended early is one."""
        if not self.difference and self._next < len(self._recorded):
            return f"the step made {self._next} calls, one step earlier {len(self._recorded)}"
        return self.difference
