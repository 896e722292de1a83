"""What all captures do alike on the command line."""

from __future__ import annotations

import pathlib

import pytest

from pardnn.capture_common import CaptureError, Costing, Report
from pardnn.capture_common.command import Captured, run
from pardnn.capture_common.samples import samples_of
from pardnn.command_line import Parser, whole
from pardnn.costs import Cost, OpCall, cost_model
from pardnn.graph import GraphBuilder
from pardnn.graph_file import read_graph

MODULE = "pardnn.capture_test"


def small() -> Captured:
    builder = GraphBuilder("a\x1b[31m\nname")
    builder.node("x", op="my::op", comp=5, mem=8)
    return Captured(builder.build(), Costing(cost_model("roofline:V100")), Report())


def raising(error: BaseException) -> Captured:
    raise error


ENDS = {"framework": (ModuleNotFoundError("No module named 'framework'", name="framework"), 3,
                      "framework is not installed; this capture needs it (pip install framework)"),
        "input": (CaptureError("g.pb: no\nnodes \x1b[31m"), 3, "g.pb: no?nodes ?[31m"), "disk": (OSError("no space"), 3, "no space"),
        "interrupt": (KeyboardInterrupt(), 130, "stopped")}


@pytest.mark.parametrize(("error", "code", "message"), ENDS.values(), ids=ENDS)
def test_what_goes_wrong_is_one_line(error: BaseException, code: int, message: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(MODULE, str(tmp_path / "g.h5"), lambda: raising(error)) == code
    assert capsys.readouterr().err == f"{MODULE}: {message}\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("output", ["/dev/null", ".", "no/such/folder/g.h5", ""])
def test_an_output_that_cannot_be_is_told_before_the_work(output: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch,
                                                          capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(MODULE, output, lambda: raising(AssertionError("work was begun"))) == 3
    assert capsys.readouterr().err.count("\n") == 1


def test_files_beside_the_graph_are_written_with_it_or_not_at_all(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = small()
    found.texts = {str(tmp_path / "m.tsv"): "\u00e4\n", str(tmp_path): "a folder"}
    assert run(MODULE, str(tmp_path / "g.h5"), lambda: found) == 3
    assert not list(tmp_path.iterdir())
    found.texts.popitem()
    assert run(MODULE, str(tmp_path / "g.h5"), lambda: found) == 0
    assert (tmp_path / "m.tsv").read_text(encoding="utf-8") == "\u00e4\n" and read_graph(tmp_path / "g.h5").names == ["x"]
    out = capsys.readouterr().out
    assert "a?[31m?name: 1 nodes" in out and "\x1b" not in out


def test_samples_are_told_guessed_or_one() -> None:
    report = Report()
    assert samples_of(5, 7, report) == 5 and not report.lines()
    assert samples_of(None, 7, report) == 7 and "leading dimension" in report.lines()[0]
    assert samples_of(None, 0, Report()) == samples_of(None, None, Report()) == 1
    with pytest.raises(CaptureError, match="samples: expected a positive number, found 0"):
        samples_of(0, 7, report)


@pytest.mark.parametrize("text", ["0", "-1", "x", "", "1.5", "nan", "9" * 30, str(2**40 + 1)])
def test_a_wrong_number_is_wrong_usage(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = Parser(prog="python -m pardnn.capture_test")
    parser.add_argument("--samples", type=whole(1))
    with pytest.raises(SystemExit) as stop:
        parser.parse_args([f"--samples={text}"])
    told = capsys.readouterr().err
    assert stop.value.code == 3 and told.startswith(f"{MODULE}: argument --samples: ") and "whole number from 1" in told and told.count("\n") == 1


def test_flops_are_the_models_else_the_captures() -> None:
    class Silent:
        def cost(self, call: OpCall) -> Cost:
            return Cost(1, flops=3 if call.op == "told" else 0)

    costing = Costing(Silent())
    costing.modelled("a", OpCall("told", (), flops=100))
    costing.modelled("b", OpCall("other", (), flops=100))
    assert costing.coverage.flops == 103
