"""How many training samples one captured step processes."""

from __future__ import annotations

from .errors import CaptureError
from .report import Report


def samples_of(told: int | None, guess: int | None, report: Report) -> int:
    """What the user ``told``; else ``guess``, the leading dimension of the step's arguments; else 1. What was not told is noted."""
    if told is not None:
        if told < 1:
            raise CaptureError(f"samples: expected a positive number, found {told}")
        return told
    if guess:
        report.note(f"samples a step: {guess}, the arguments' leading dimension")
        return guess
    report.note("samples a step unknown, taken as 1 (--samples N)")
    return 1
