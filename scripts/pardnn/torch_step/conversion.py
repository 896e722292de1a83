"""``module.to(...)``, ``.half()`` and the like while a module is built of fake tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch._subclasses import FakeTensor


@contextmanager
def convertible() -> Iterator[None]:
    """While inside, modules of fake tensors convert as real ones do.

    PyTorch swaps the contents of fake parameters, and refuses where something holds a weak reference to one, which its own initialisation leaves
    behind. A fake tensor has no content that such a reference could see change.
    """
    plain = torch.utils.swap_tensors

    def swap(t1: torch.Tensor, t2: torch.Tensor) -> None:
        if not (isinstance(t1, FakeTensor) and isinstance(t2, FakeTensor)):
            plain(t1, t2)
            return
        t1.__class__, t2.__class__ = t2.__class__, t1.__class__
        t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
        torch._C._swap_tensor_impl(t1, t2)  # type: ignore[attr-defined]

    torch.utils.swap_tensors = swap  # type: ignore[assignment]
    try:
        yield
    finally:
        torch.utils.swap_tensors = plain
