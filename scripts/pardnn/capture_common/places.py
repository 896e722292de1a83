"""Where in the user's own code an error came from, on one line."""

from __future__ import annotations

import os
import traceback

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LIBRARY = os.path.dirname(os.__file__)


def place_of(error: BaseException, where: str = "", outside: tuple[str, ...] = ()) -> str:
    """``file:line`` of the user's own code nearest to where ``error`` was raised: neither this package, nor a library's, nor ``outside``.

    ``where``: the answer if there is none.
    """
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        name = os.path.abspath(frame.filename)
        if os.path.isfile(name) and "site-packages" not in name and not name.startswith((_PACKAGE, *outside, _LIBRARY)):
            return f"{os.path.relpath(name)}:{frame.lineno}" + (f" ({frame.line})" if frame.line else "")
    return where or "the step"


def first_line(error: BaseException) -> str:
    """The error's type, and its own first line that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
