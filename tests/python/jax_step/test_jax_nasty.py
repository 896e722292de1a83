"""Nasty steps and options: one line, exit code 3 and no file."""

from __future__ import annotations

from pathlib import Path

import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

from pardnn.capture_common import CaptureError  # noqa: E402
from pardnn.capture_jax import capture_step, main  # noqa: E402
from pardnn.costs import Cost, OpCall  # noqa: E402
from pardnn.graph_file import read_graph  # noqa: E402

MODEL = """
import jax
import jax.numpy as jnp

def step(state, x):
    return state - x.sum()

def good():
    return step, jnp.zeros(4), jnp.zeros((6, 2))

def zero():
    return step, jnp.zeros(4), jnp.zeros((0, 2))

def huge():
    return step, jax.ShapeDtypeStruct((2**40, 2**30), jnp.float32), jnp.zeros((6, 2))

def stateless():
    return (lambda s: s), ()

def number():
    return 3, jnp.zeros(4)

def alone():
    return (step,)

def none():
    return None

def text():
    return step, {"layer": "weights"}, jnp.zeros((6, 2))

def grows():
    return (lambda s, x: jnp.concatenate([s, s])), jnp.zeros(4), jnp.zeros((6, 2))

def raises():
    raise RuntimeError("no such\\nweights")

def forward():
    def fails(state, x):
        raise KeyError("layer")
    return fails, jnp.zeros(4), jnp.zeros((6, 2))

def leaves():
    raise SystemExit
"""
LINES = {
    "huge": (["m.py:huge"], "63 bits"), "no function": (["m.py:number"], "3: expected a function of the state and a batch"),
    "alone": (["m.py:alone"], "expected it to return (step, state, *batch), found tuple of 1"), "nothing": (["m.py:none"], "found NoneType"),
    "text": (["m.py:text"], "state['layer']: expected an array or a number, found str"),
    "grows": (["m.py:grows"], "state: the step takes float32[4] and returns float32[8]"),
    "raises": (["m.py:raises"], "RuntimeError: no such"),
    "raises in the step": (["m.py:forward"], "m.py:40 (raise KeyError(\"layer\")): tracing stops: KeyError"),
    "ends": (["m.py:leaves"], "it ends the program"), "missing": (["m.py:nothing"], "there is no function 'nothing' (there are: step, good"),
    "device": (["m.py:good", "-o", "/dev/null"], "/dev/null: expected the name of a file"), "costs": (["m.py:good", "--costs", "x"], "costs 'x': unknown"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "m.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("arguments", "message"), LINES.values(), ids=LINES)
def test_one_line_and_no_file(folder: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*([] if "-o" in arguments else ["-o", "g.h5"]), *arguments]) == 3
    error = capsys.readouterr().err
    assert message in error and error.startswith("pardnn.capture_jax: ") and error.count("\n") == 1, error
    assert not (folder / "g.h5").exists()


@pytest.mark.parametrize("more", [["--samples", "0"], ["--unroll", "-1"], ["--iterations", "1.5"], ["--samples", "9" * 25]])
def test_wrong_usage(folder: Path, more: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["m.py:good", "-o", "g.h5", *more])
    assert stop.value.code == 3


def test_steps_with_nothing_in_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No samples, or no state at all, are told; there is a graph all the same."""
    assert main(["m.py:zero", "-o", "zero.h5"]) == 0
    assert "samples a step unknown, taken as 1" in capsys.readouterr().out
    assert main(["m.py:stateless", "-o", "größe-模型.h5", "--name", "größe-模型"]) == 0
    assert read_graph("größe-模型.h5").num_nodes == 0
    assert "größe-模型: 0 nodes" in capsys.readouterr().out


class Oracle:
    def cost(self, call: OpCall) -> Cost:
        return Cost(float("nan"))  # type: ignore[arg-type]


def test_costs_that_are_no_times() -> None:
    step = lambda s, x: jax.lax.scan(lambda c, _: (c - x.sum(), None), s, None, length=3)[0]  # noqa: E731
    with pytest.raises(CaptureError, match="its time is unknown"):
        capture_step(step, jnp.zeros(4), jnp.zeros((6, 2)), costs=Oracle())
    with pytest.raises(CaptureError, match="samples: expected a positive number, found -1"):
        capture_step(step, jnp.zeros(4), jnp.zeros((6, 2)), samples=-1)
