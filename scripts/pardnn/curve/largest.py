"""The largest of some sizes that fits, with few trials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """Whether a size fits; ``proven``: that it does not is proven, more work would not help."""

    fits: bool
    proven: bool = False


def largest_fitting(count: int, judge: Callable[[int, bool], Verdict]) -> int:
    """The greatest index below ``count`` that fits, -1 if none does, where what fits at one index fits at all smaller ones.

    ``judge(index, thorough)``: first quick ones, by bisection. Where the edge lies then is tried thoroughly, unless proven; if that fits, the
    rest is bisected thoroughly. At most 2 log2(count) + 3 trials.
    """
    quick = _bisected(-1, count, lambda i: judge(i, False).fits)
    edge = quick + 1
    if edge == count or not _fits_thoroughly(judge, edge):
        return quick
    return _bisected(edge, count, lambda i: _fits_thoroughly(judge, i))


def _fits_thoroughly(judge: Callable[[int, bool], Verdict], index: int) -> bool:
    quick = judge(index, False)
    return quick.fits or (not quick.proven and judge(index, True).fits)


def _bisected(fits: int, fails: int, test: Callable[[int], bool]) -> int:
    """The last that fits, between one that does and one that does not."""
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if test(middle):
            fits = middle
        else:
            fails = middle
    return fits
