"""What can be wrong with a step that is captured, and where in the user's code it is."""

from __future__ import annotations

import logging
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..capture_common.errors import CaptureError

__all__ = ["CaptureError", "ProgramError", "user_errors", "user_line", "user_place"]


class ProgramError(ValueError):
    """A program that cannot be read or run: which file or node, and what was expected."""


_HERE = str(Path(__file__).resolve().parent.parent)


def _foreign_roots() -> tuple[str, ...]:
    import torch

    library = sysconfig.get_paths()["stdlib"]
    return (_HERE, str(Path(torch.__file__).resolve().parent), library, "<")


def user_line() -> str:
    """``file:line`` of the innermost frame that belongs neither to torch, nor to Python's library, nor to this package."""
    return _place((frame.f_code.co_filename, line) for frame, line in traceback.walk_stack(sys._getframe(1)))


def _place(frames: Iterable[tuple[str, int]]) -> str:
    """The user's line among frames, innermost first, and where the library was that it called (an optimizer, a model from a package)."""
    roots = _foreign_roots()
    inside = ""
    for name, line in frames:
        library = "torch.optim" if f"torch{os.sep}optim" in name else "site-packages" if "site-packages" in name and not name.startswith(roots) else ""
        if library and not inside:
            inside = f" (in {library}, {Path(name).name}:{line})"
        if "site-packages" not in name and not name.startswith(roots):
            return f"{name}:{line}{inside}"
    return f"the step{inside}"


def user_place(error: BaseException) -> str | None:
    """``file:line`` of the user's code that an error came through, None if it came through none."""
    frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    place = _place(reversed(frames))
    return None if place.startswith("the step") else place


@contextmanager
def user_errors(what: str = "the step") -> Iterator[None]:
    """Errors of torch in code that runs on fake tensors become a CaptureError that names the user's line; the user's own pass as they are."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # it prints a stack for what is told in one line below
    try:
        yield
    except CaptureError:
        raise
    except RuntimeError as error:  # NotImplementedError and all errors of fake tensors are such
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CaptureError(f"{user_place(error) or what}: {what} fails on tensors without data: {text}{_advice(error)}") from error
    finally:
        logger.setLevel(level)


def _advice(error: BaseException) -> str:
    if type(error).__name__ == "DataDependentOutputException":
        return "; a number is read out of a tensor, which has none here: compute it without tensors"
    if "numpy" in str(error):
        return "; nothing can be turned into numpy arrays here: keep to torch operations"
    return "; sparse tensors have no storage to follow: use dense ones (sparse=False)" if "Sparse" in str(error) else ""
