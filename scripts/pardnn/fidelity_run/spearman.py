"""Spearman's rank correlation: do two columns put the same things first?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def ranks(values: Sequence[float]) -> np.ndarray:
    """Ranks from 1; equal values share the mean of theirs."""
    column = np.asarray(values, dtype=np.float64)
    _, place, count = np.unique(column, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count - 1) / 2)[place])


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """The correlation of the ranks, -1 to 1. Raises ValueError for columns of different length, of less than two values, or all equal."""
    if len(a) != len(b) or len(a) < 2:
        raise ValueError(f"a rank correlation needs two columns of the same length from 2 on, found {len(a)} and {len(b)}")
    x, y = (ranks(column) - (len(column) + 1) / 2 for column in (a, b))
    scale = float(np.sqrt((x @ x) * (y @ y)))
    if scale == 0:
        raise ValueError("a rank correlation needs columns whose values differ")
    return float(x @ y) / scale
