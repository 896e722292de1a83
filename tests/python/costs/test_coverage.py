"""Shares of costs, and unknown ones (E16)."""

from __future__ import annotations

import math

import pytest
from pardnn.costs import Cost, Coverage, How, UnknownCostError, cost_model, finish


def test_shares_of_nodes_and_time():
    coverage = Coverage()
    for ns, how in ((700, How.MEASURED), (200, How.MODELLED), (100, How.GUESSED), (0, How.GUESSED)):
        coverage.count("n", Cost(ns, how=how), "my::op")
    assert coverage.line() == ("measured 25.0 % of 4 nodes, 70.0 % of time; modelled 25.0 % of 4 nodes, 20.0 % of time; "
                               "guessed 50.0 % of 4 nodes, 10.0 % of time (my::op x2)")


def test_nothing_covered():
    assert Coverage().line().startswith("measured 0.0 % of 0 nodes")


@pytest.mark.parametrize("unknown", [math.nan, -1, math.inf, 2**63, None])
def test_unknown_cost_is_refused_without_a_default(unknown):
    with pytest.raises(UnknownCostError, match="node 'layer.mm': its time is unknown .*--unknown-cost"):
        Coverage().count("layer.mm", Cost(unknown))


@pytest.mark.parametrize("unknown", [math.nan, -1, math.inf, 2**63, None])
def test_unknown_cost_takes_the_default_and_is_counted(unknown):
    coverage = Coverage(unknown_ns=5000)
    cost = coverage.count("a", Cost(unknown, temp=8, flops=9, how=How.MEASURED))
    assert cost == Cost(5000, 8, 9, How.GUESSED)
    assert coverage.line().endswith("1 unknown times taken as 5,000 ns")


def test_flops_are_the_costs_unless_they_are_known_better():
    coverage = Coverage()
    coverage.count("a", Cost(1, flops=7))
    coverage.count("b", Cost(1, flops=7), flops=100)
    assert coverage.flops == 107


def test_times_are_rounded_up():
    assert Coverage().count("a", Cost(0.25)).ns == 1  # type: ignore[arg-type]


def test_a_model_without_an_account_finishes_silently():
    assert finish(cost_model("roofline:V100")) == []
