"""Where a step meets data while it is recorded: calls whose outcome depends on it, and the values of constants."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from .errors import CaptureError, user_line
from .operators import describe

_ADVICE_ITEM = ("a step with control flow or numbers that depend on data is no fixed graph; keep the value in a tensor (torch.where), "
                "or return it and read it after the step")


def checked(func: Any, args: Any, kwargs: Any) -> Any:
    """``func(*args, **kwargs)``; CaptureError with the user's line where the outcome depends on data."""
    from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException

    try:
        return func(*args, **kwargs)
    except (DynamicOutputShapeException, DataDependentOutputException) as error:
        if describe(func).kind == "aten::_local_scalar_dense":
            raise number_read() from error
        raise CaptureError(f"{user_line()}: the shape of what {describe(func).name} gives depends on data; use a form of fixed shape "
                           "(masks, torch.where, a capacity per group)") from error


def number_read() -> CaptureError:
    """The error of a step that reads numbers out of tensors."""
    return CaptureError(f"{user_line()}: a number is read out of a tensor (.item(), float(), bool(), a comparison in `if`): {_ADVICE_ITEM}")


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """All elements of the tensor's storage, a copy."""
    with _disable_current_modes(), torch.no_grad():
        count = tensor.untyped_storage().nbytes() // tensor.dtype.itemsize
        return tensor.detach().as_strided((count,), (1,), 0).clone()


def number_in(tensor: torch.Tensor, place: int = 0) -> int | float | bool | complex:
    """One number of a real, dense tensor."""
    with _disable_current_modes(), torch.no_grad():
        return tensor.detach().reshape(-1)[place].item()
