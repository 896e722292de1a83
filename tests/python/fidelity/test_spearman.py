"""Rank correlations against values worked out by hand."""

from __future__ import annotations

import pytest

from pardnn.fidelity_run.spearman import ranks, spearman


def test_ranks_of_ties_are_their_mean():
    assert ranks([30.0, 10.0, 20.0, 20.0, 20.0]).tolist() == [5, 1, 3, 3, 3]
    assert ranks([7, 7]).tolist() == [1.5, 1.5]


@pytest.mark.parametrize(("a", "b", "expected"), [
    ([1, 2, 3, 4], [10, 200, 201, 1e9], 1.0),
    ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
    ([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], 0.8),  # 1 - 6 * 4 / (5 * 24)
    ([1, 2, 2, 3], [1, 3, 2, 4], 4.5 / 22.5**0.5),  # ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4
    ([1, 1, 2, 2], [5, 5, 6, 6], 1.0),
    ([1, 1, 2, 2], [5, 6, 5, 6], 0.0),
])
def test_by_hand(a, b, expected):
    assert spearman(a, b) == pytest.approx(expected, abs=1e-12)
    assert spearman(b, a) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("a", "b"), [([1, 2], [1, 2, 3]), ([1], [2]), ([], [])])
def test_columns_that_do_not_go_together(a, b):
    with pytest.raises(ValueError, match="same length from 2 on"):
        spearman(a, b)


def test_a_column_of_equal_values():
    with pytest.raises(ValueError, match="values differ"):
        spearman([3, 3, 3], [1, 2, 3])
