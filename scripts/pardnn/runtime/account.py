"""For whom a run waits: from the rank that was missed along those that wait for each other, to one that does not wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .progress import State

Answer = State | str | None  # what a rank does, or why it does not say; None if nothing is known
Ask = Callable[[int], Answer]


def culprit(missed: int | None, own: int, everyone: Iterable[int], ask: Ask) -> tuple[int, State | str] | None:
    """The rank that keeps the others waiting, as ``own`` sees it; ``missed``: the rank it waited for, None for all. None where it cannot be told.

    Each rank is asked at most once.
    """
    seen = {own}
    rank = missed
    while rank is not None and rank >= 0 and rank not in seen:
        seen.add(rank)
        found = ask(rank)
        if found is None:
            return None
        if not _waits(found):
            return rank, found
        rank = found.waits if isinstance(found, State) else None
    busy = [(r, found) for r in everyone if r not in seen and (found := ask(r)) is not None and not _waits(found)]
    return max(busy, key=lambda pair: (_still(pair[1]), -pair[0]), default=None)


def told(name: str, found: State | str) -> str:
    """``name``: of the rank."""
    return f"{name} {found}" if isinstance(found, str) else f"{name} has been busy for {found.still:.0f} s {found.words()}"


def _waits(found: State | str) -> bool:
    return isinstance(found, State) and found.waits is not None


def _still(found: State | str) -> float:
    return found.still if isinstance(found, State) else float("inf")
