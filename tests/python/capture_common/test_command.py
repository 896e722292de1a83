"""What all captures do alike on the command line."""

from __future__ import annotations

import pathlib

import pytest

from pardnn.capture_common.command import run


def test_a_framework_that_is_not_there_is_one_line(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    def capture() -> None:
        raise ModuleNotFoundError("No module named 'framework'", name="framework")

    assert run(capture, str(tmp_path / "g.h5")) == 3  # type: ignore[arg-type]
    assert capsys.readouterr().err == "error: framework is not installed; this capture needs it (pip install framework)\n"
    assert not list(tmp_path.iterdir())
