"""Examples from the command line: sizes by --set, modules that convert themselves, and what is said of wrong arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from pardnn.capture_torch import main  # noqa: E402
from pardnn.graph_file import read_graph  # noqa: E402

EXAMPLES = Path(__file__).resolve().parents[3] / "scripts/examples"


def test_sizes_are_set(tmp_path: Path) -> None:
    sizes = [a for s in ("width=8", "most_rows=50", "bottom=(16,)", "top=(16,8)", "batch=4") for a in ("--set", s)]
    assert main([f"{EXAMPLES}/dlrm.py:step", *sizes, "-o", str(tmp_path / "g.h5")]) == 0
    graph = read_graph(tmp_path / "g.h5")
    assert graph.samples_per_step == 4
    assert graph.mem[graph.names.index("tables.0.weight")] == 50 * 8 * 4


def test_text_is_an_argument_too_and_modules_convert(tmp_path: Path) -> None:
    sizes = [a for s in ("layers=1", "width=16", "heads=2", "groups=1", "inner=8", "vocabulary=10", "length=4", "dtype=bfloat16") for a in ("--set", s)]
    assert main([f"{EXAMPLES}/llama.py:step", *sizes, "-o", str(tmp_path / "g.h5")]) == 0
    graph = read_graph(tmp_path / "g.h5")
    assert graph.mem[graph.names.index("embedding.weight")] == 10 * 16 * 2


@pytest.mark.parametrize("arguments, expected", [
    (["layrs=2"], "unexpected keyword argument 'layrs'"),
    (["layers"], "--set layers: expected NAME=VALUE"),
    (["layers=1", "layers=2"], "layers is set twice"),
])
def test_wrong_arguments_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str) -> None:
    flags = [a for s in arguments for a in ("--set", s)]
    assert main([f"{EXAMPLES}/gpt2.py:step", *flags, "-o", str(tmp_path / "g.h5")]) == 3
    message = capsys.readouterr().err
    assert expected in message and message.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
