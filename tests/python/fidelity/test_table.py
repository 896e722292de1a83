"""The table: medians, ratios of memory, correlations, CSV and Markdown."""

from __future__ import annotations

import csv
import io
import math

import pytest

torch = pytest.importorskip("torch")

from pardnn.fidelity_run.messages import MessageCost  # noqa: E402
from pardnn.fidelity_run.table import Row, Table, csv_text, markdown, summary_lines  # noqa: E402


def row(name, emulated, measured, peaks=((100, 100), (50, 50)), captured=None):
    emulated_peaks, live_peaks = ([p[i] for p in peaks] for i in (0, 1))
    return Row(name, "random", emulated, 2 * emulated, measured, [m - 1 for m in measured], emulated_peaks, live_peaks, [4.0, 5.0], 3, 1000, captured)


@pytest.fixture
def table():
    rows = [row("a", 10.0, [12.0, 11.0, 30.0], captured=3.0), row("b", 20.0, [22.0, 20.0], ((104, 100), (0, 0)), captured=2.0),
            row("c", 30.0, [21.5, 41.0, 21.0], ((97, 100), (50, 50)), captured=1.0)]
    return Table("g", 7, 2, captured_work=5.0, work=6.0, rows=rows, message=MessageCost(1e4, 0.5, 2e4, 0.25))


def test_times(table):
    assert [r.median for r in table.rows] == [12.0, 21.0, 21.5]
    assert [r.least for r in table.rows] == [11.0, 20.0, 21.0]
    assert table.correlation() == pytest.approx(1.0)
    assert table.correlation(emulated="as_captured") == pytest.approx(-1.0)
    assert table.apart() == pytest.approx(2.0 / 12.0), "of 1/6, 1/21 and 8.5/21.5"


def test_memory(table):
    assert table.memory == (0.97, 1.04), "devices that hold nothing do not count"
    table.rows.append(row("d", 1.0, [1.0], ((5, 0), (50, 50))))
    assert table.memory == (0.97, math.inf)


def test_csv(table):
    lines = list(csv.DictReader(io.StringIO(csv_text([table]))))
    assert [line["placement"] for line in lines] == ["a", "b", "c"]
    assert lines[1] == {"graph": "g", "placement": "b", "kind": "random", "emulated_ms": "20.000", "with_copies_ms": "40.000", "as_captured_ms": "2.000",
                        "measured_ms": "21.000",
                        "measured_least_ms": "20.000", "core_ms": "20.000", "steps": "2", "disturbed_steps": "0", "values_sent": "3", "bytes_sent": "1000",
                        "cpu_ms_0": "4.000", "emulated_peak_0": "104",
                        "live_peak_0": "100", "cpu_ms_1": "5.000", "emulated_peak_1": "0", "live_peak_1": "0"}


def test_markdown(table):
    text = markdown([table], ["How."], ["What not."])
    assert "| g | 7 | 3 | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 | -1.000 | 16.7% | 90.5% | 0.970 | 1.040 |" in text
    assert "How.\n" in text and "- What not.\n" in text
    assert text.index("| a |") < text.index("| b |") < text.index("| c |")
    assert any("1.000" in line and "asked: 0.9" in line for line in summary_lines(table))
