"""The search for the largest size that fits, against all answers a partitioner may give; tables, CSV and plot of points."""

from __future__ import annotations

import math
import xml.etree.ElementTree

import pytest

from pardnn.curve.judge import Point
from pardnn.curve.largest import Verdict, largest_fitting
from pardnn.curve.report import COLUMNS, csv_text, svg_text, table_lines


@pytest.mark.parametrize("count", [1, 2, 3, 7, 16])
def test_every_edge_is_found_with_few_trials(count: int) -> None:
    """Fits up to ``truth``; quick trials find that up to ``quick`` alone, and prove what is from ``proven`` on."""
    for truth in range(-1, count):
        for quick in range(-1, truth + 1):
            for proven in range(truth + 1, count + 1):
                trials = set()

                def judge(index: int, thorough: bool, truth: int = truth, quick: int = quick, proven: int = proven, trials: set = trials) -> Verdict:
                    assert 0 <= index < count
                    trials.add((index, thorough))
                    return Verdict(index <= (truth if thorough else quick), index >= proven)

                assert largest_fitting(count, judge) == truth
                assert len(trials) <= 3 * math.log2(count) + 3
                assert not any(thorough and index >= proven for index, thorough in trials)


def point(devices: int, batch: int, makespan: int = 10**9, fits: bool = True) -> Point:
    return Point(devices, batch, batch, "fast", fits, not fits, makespan, 100, 200, 120)


def test_table_compares_with_ideal_data_parallelism() -> None:
    lines = list(table_lines({1: point(1, 4), 2: point(2, 16, 2 * 10**9), 4: None}))
    assert lines[1].split() == ["1", "4", "1.00", "x", "4.00", "1.00", "x", "1000.000", "100", "200"]
    assert lines[2].split() == ["2", "16", "2.00", "x", "8.00", "2.00", "x", "2000.000", "100", "200"]
    assert lines[3].split() == ["4", "none", "fits"]
    assert "-" in list(table_lines({1: None, 2: point(2, 16)}))[2].split()


def test_csv_marks_the_largest() -> None:
    rows = [line.split(",") for line in csv_text([point(1, 4), point(1, 8, fits=False)], {1: 4}).splitlines()]
    assert tuple(rows[0]) == COLUMNS
    assert rows[1] == ["1", "4", "4", "fast", "1", "0", "1000000000", "4", "100", "200", "120", "1"]
    assert rows[2][4:6] == ["0", "1"] and rows[2][-1] == "0"


@pytest.mark.parametrize("best", [{1: point(1, 4), 4: point(4, 64)}, {1: None, 2: point(2, 4)}, {1: None}])
def test_the_plot_has_a_mark_for_each_value(best: dict[int, Point | None]) -> None:
    tree = xml.etree.ElementTree.fromstring(svg_text(best, "a<b & c"))
    space = "{http://www.w3.org/2000/svg}"
    found = [p for p in best.values() if p]
    assert len(tree.findall(f"{space}circle")) == 2 * len(found)
    texts = [t.text for t in tree.findall(f"{space}text")]
    assert "a<b & c" in texts and all(str(p.batch) in texts for p in found)
    heights = [float(c.get("cy", "0")) for c in tree.findall(f"{space}circle")][: len(found)]
    assert heights == sorted(heights, reverse=True)
