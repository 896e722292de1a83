"""The script of the table: a small row from capture to placement, and what makes a row bad."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")

Example = Callable[[str], ModuleType]


def test_a_row_is_captured_checked_and_placed(example: Example, pardnn_binary: str, tmp_path: Path) -> None:
    script = example("capture_all")
    row = script.Row("moe", 2, "1GiB", sizes={**example("moe").SMALL, "micro_batches": 2}, micro_batches=2)
    result = script.measure(row, pardnn_binary, tmp_path)
    assert result.good()
    assert result.ratios() == (1.0, 1.0)
    assert result.capture.seconds > 0 and 2**26 < result.capture.peak_bytes < 2**32
    line = script.line(result)
    assert line.count("|") == script.HEADER.splitlines()[0].count("|") == script.HEADER.splitlines()[1].count("|")
    assert "| 2 x 1GiB |" in line and "| yes |" in line

    assert not dataclasses.replace(result, hand=dataclasses.replace(result.hand, flops=result.hand.flops * 102 // 100)).good()
    assert not dataclasses.replace(result, hand=dataclasses.replace(result.hand, residual_bytes=result.hand.residual_bytes // 2)).good()
    assert not dataclasses.replace(result, hand=dataclasses.replace(result.hand, products=result.hand.products + 1)).good()
    assert not dataclasses.replace(result, placement={**result.placement, "feasible": False}).good()
    assert not dataclasses.replace(result, capture=result.capture._replace(peak_bytes=2**32)).good()


def test_a_command_that_fails_says_why(example: Example) -> None:
    with pytest.raises(RuntimeError, match="exit code 3: no more"):
        example("capture_all").run([sys.executable, "-c", "import sys; print('no more', file=sys.stderr); sys.exit(3)"])


def test_every_family_has_a_row(example: Example) -> None:
    assert {row.example for row in example("capture_all").ROWS} == set(example("counts").FAMILIES)
