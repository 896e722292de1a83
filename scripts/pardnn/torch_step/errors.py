"""What can be wrong with a step that is captured, and where in the user's code it is."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from types import FrameType


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
    roots = _foreign_roots()
    frame: FrameType | None = sys._getframe(1)
    inside = ""
    while frame is not None:
        name = frame.f_code.co_filename
        if f"torch{os.sep}optim" in name and not inside:
            inside = f" (in torch.optim, {Path(name).name}:{frame.f_lineno})"
        if "site-packages" not in name and not name.startswith(roots):
            return f"{name}:{frame.f_lineno}{inside}"
        frame = frame.f_back
    return f"the step{inside}"
