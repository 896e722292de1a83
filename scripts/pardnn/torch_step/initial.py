"""What optimizer state is before the first step: the number that its tensors are filled with when they are made."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode

from .data import checked, number_in
from .operators import describe


class Initial(TorchDispatchMode):
    """Notes which tensors are made full of one number: what optimizer state is before the first step."""

    def __init__(self) -> None:
        super().__init__()
        self._fill: dict[int, tuple[Any, float]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = checked(func, args, kwargs or {})
        fill = self._fill_of(describe(func).kind, args)
        if fill is not None and isinstance(result, torch.Tensor):
            storage = result.untyped_storage()
            self._fill[storage._cdata] = (storage, fill)
        return result

    def _fill_of(self, kind: str, args: Any) -> float | None:
        return self.of(args[0]) if kind in ("aten::clone", "aten::_to_copy", "aten::detach") else fill_of(kind, args)

    def of(self, tensor: torch.Tensor) -> float | None:
        """The number, or None for a tensor that was made of something else (SGD's momentum: the first gradient)."""
        found = self._fill.get(tensor.untyped_storage()._cdata)
        return found[1] if found else None


def fill_of(kind: str, args: Any) -> float | None:
    """The number that a call fills its result with."""
    if kind in ("aten::zeros", "aten::zeros_like", "aten::new_zeros"):
        return 0.0
    if kind in ("aten::ones", "aten::ones_like", "aten::new_ones"):
        return 1.0
    if kind in ("aten::full", "aten::full_like") and isinstance(args[1], (int, float)):
        return float(args[1])
    if kind in ("aten::lift_fresh", "aten::lift_fresh_copy") and args[0].numel() == 1:
        known = getattr(args[0], "constant", None) if isinstance(args[0], FakeTensor) else args[0]
        return None if known is None else float(number_in(known))  # type: ignore[arg-type]
    return None
