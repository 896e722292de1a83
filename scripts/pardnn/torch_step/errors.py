"""What can be wrong with a step that is captured, and where in the user's code it is."""

from __future__ import annotations

import os
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


class CaptureError(ValueError):
    """A step that no graph can be made of: what, where in the user's code, and what to do instead."""


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
    """The user's line among frames, innermost first, and where torch.optim was if it was inside."""
    roots = _foreign_roots()
    inside = ""
    for name, line in frames:
        if f"torch{os.sep}optim" in name and not inside:
            inside = f" (in torch.optim, {Path(name).name}:{line})"
        if "site-packages" not in name and not name.startswith(roots):
            return f"{name}:{line}{inside}"
    return f"the step{inside}"


@contextmanager
def user_errors() -> Iterator[None]:
    """Errors of torch in a step that runs on fake tensors become a CaptureError that names the user's line; the user's own pass as they are."""
    try:
        yield
    except CaptureError:
        raise
    except (RuntimeError, NotImplementedError) as error:
        frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
        advice = ""
        if "numpy" in str(error):
            advice = "; a captured step has no data, so nothing can be turned into numpy arrays: keep to torch operations"
        elif "Sparse" in str(error):
            advice = "; sparse tensors have no storage to follow: use dense ones (sparse=False)"
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CaptureError(f"{_place(reversed(frames))}: the step fails on tensors without data: {text}{advice}") from error
