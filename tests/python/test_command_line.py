"""Wrong usage of every command of the package: one line, and the exit code that the program pardnn has for it."""

from __future__ import annotations

import importlib

import pytest

COMMANDS = ["batch_curve", "capture_jax", "capture_onnx", "capture_tensorflow", "capture_torch", "costs.__main__", "exports", "fidelity", "measure_machine",
            "place_tensorflow", "run"]
NEEDS = {"exports": "torch"}


@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_usage_is_one_line_and_exit_3(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    command = importlib.import_module(f"pardnn.{name}")
    with pytest.raises(SystemExit) as stop:
        command.main(["--no-such-option"])
    told = capsys.readouterr().err
    assert stop.value.code == 3 and told.count("\n") == 1 and told.startswith(f"pardnn.{name.partition('.')[0]}: "), told


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_no_error(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    with pytest.raises(SystemExit) as stop:
        importlib.import_module(f"pardnn.{name}").main(["--help"])
    assert stop.value.code == 0 and "--help" in capsys.readouterr().out
