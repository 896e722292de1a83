"""Nasty graphs, functions and options: one line, exit code 3 and no file; whatever the bytes, never a traceback."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
tf = pytest.importorskip("tensorflow")

from damage import damaged  # noqa: E402
from google.protobuf import text_format  # noqa: E402
from tensorflow.core.framework import graph_pb2  # noqa: E402

from pardnn.capture_common import CaptureError, Costing  # noqa: E402
from pardnn.capture_tensorflow import capture_function, capture_graph_def, capture_with_report, main  # noqa: E402
from pardnn.costs import Cost, How, OpCall  # noqa: E402
from pardnn.graph_file import read_graph  # noqa: E402

X = 'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } ' \
    'attr { key: "shape" value { shape { dim { size: %d } dim { size: %d } } } } }'
FLOAT = 'attr { key: "T" value { type: DT_FLOAT } }'


def text_of(rows: int = 4, columns: int = 4) -> str:
    return X % (rows, columns) + f'node {{ name: "y" op: "Relu" input: "x" {FLOAT} }} node {{ name: "z" op: "MatMul" input: "y" input: "x" {FLOAT} }}'


def graph_of(text: str) -> Any:
    return text_format.Parse(text, graph_pb2.GraphDef())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "g.pb").write_bytes(graph_of(text_of()).SerializeToString())
    (tmp_path / "empty.pbtxt").write_text("")
    (tmp_path / "folder.pb").mkdir()
    (tmp_path / "m.py").write_text("""
import tensorflow as tf

step = tf.function(lambda x: tf.nn.relu(x))

def pair():
    return step, (tf.TensorSpec([4]),)

def unknown():
    return step, (tf.TensorSpec(None),)

def none():
    return 3

def one_tensor():
    return step, tf.zeros(4)

def raises():
    raise RuntimeError("no such\\nweights")

def leaves():
    raise SystemExit(2)

@tf.function
def fails(x):
    return tf.matmul(x, x)

def shapes():
    return fails, (tf.TensorSpec([4, 3]),)
""")
    monkeypatch.chdir(tmp_path)
    return tmp_path


LINES = {
    "folder": (["folder.pb"], "folder.pb: Is a directory"), "empty": (["empty.pbtxt"], "empty.pbtxt: no nodes"),
    "no such fetch": (["g.pb", "--fetch", "q"], "fetch 'q'"),
    "feed": (["g.pb", "--feed", "x"], "--feed x: expected"), "feed of letters": (["g.pb", "--feed", "x=axb"], "--feed x=axb: expected"),
    "large feed": (["g.pb", "--feed", "x=" + "9" * 30], "expected PLACEHOLDER=32x784"),
    "profile missing": (["g.pb", "--profile", "no.pb"], "no.pb: No such file"),
    "profile is a folder": (["g.pb", "--profile", "folder.pb"], "folder.pb: Is a directory"),
    "profile is a graph": (["g.pb", "--profile", "g.pb"], "g.pb"), "device": (["g.pb", "-o", "/dev/null"], "/dev/null: expected the name of a file"),
    "returns a number": (["m.py:none"], "m.py:none: expected it to return (tf.function, arguments)"),
    "one tensor": (["m.py:one_tensor"], "expected it to return (tf.function, arguments)"),
    "raises": (["m.py:raises"], "RuntimeError: no such"), "ends": (["m.py:leaves"], "it ends the program (exit code 2)"),
    "missing": (["m.py:nothing"], "m.py: there is no function 'nothing' (there are: pair"), "shapes": (["m.py:shapes"], "m.py:"),
    "unknown rank": (["m.py:unknown"], "unknown rank"),
}


@pytest.mark.parametrize(("arguments", "message"), LINES.values(), ids=LINES)
def test_one_line_and_no_file(folder: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*([] if "-o" in arguments else ["-o", "g.h5"]), *arguments]) == 3
    error = capsys.readouterr().err
    assert message in error and error.startswith("pardnn.capture_tensorflow: ") and error.count("\n") == 1, error
    assert not (folder / "g.h5").exists()


def test_samples(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["m.py:pair", "-o", "g.h5", "--name", "größe-模型"]) == 0
    graph = read_graph("g.h5")
    assert (graph.name, graph.samples_per_step) == ("größe-模型", 4) and "samples a step: 4" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["m.py:pair", "-o", "g.h5", "--samples", "0"])
    assert stop.value.code == 3
    with pytest.raises(CaptureError, match="samples: expected a positive number, found 0"):
        capture_function(tf.function(lambda x: x + 1), tf.TensorSpec([4]), samples=0)


@pytest.mark.parametrize(("rows", "columns", "message"), [(2**40, 2**40, "is too large"), (2**31, 2**30, "exceeds 63 bits"),
                                                        (2**30, 2**30, "of all nodes exceeds 63 bits"),
                                                        (-1, 4, r"tensor 'x' has shape \[\?, 4\]")])
def test_sizes(rows: int, columns: int, message: str) -> None:
    chain = f'node {{ name: "y" op: "Relu" input: "x" {FLOAT} }} node {{ name: "z" op: "Relu" input: "y" {FLOAT} }}'
    with pytest.raises(CaptureError, match=message):
        capture_graph_def(graph_of(X % (rows, columns) + chain))


class Guess:
    """Guesses products, and knows the rest."""

    def cost(self, call: OpCall) -> Cost:
        return Cost(5, how=How.GUESSED if "MatMul" in call.op else How.MODELLED)


def test_what_is_guessed_in_a_branch_is_guessed_outside() -> None:
    step = tf.function(lambda p, x: tf.cond(p, lambda: tf.matmul(x, x), lambda: tf.nn.relu(x)))
    costing = Costing(Guess())
    capture_with_report(step.get_concrete_function(tf.TensorSpec([], tf.bool), tf.TensorSpec([4, 4])).graph.as_graph_def(), costing=costing)
    assert costing.coverage.guessed_ops == {"tf::StatelessIf": 1} or costing.coverage.guessed_ops == {"tf::If": 1}


def test_a_loop_that_runs_itself_is_refused() -> None:
    step = tf.function(lambda x: tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.nn.relu(x)), (0, x)))
    definition = step.get_concrete_function(tf.TensorSpec([4, 4])).graph.as_graph_def()
    loop = next(node for node in definition.node if node.op in ("While", "StatelessWhile"))
    body = next(function for function in definition.library.function if function.signature.name == loop.attr["body"].func.name)
    inner = body.node_def.add()
    inner.CopyFrom(loop)
    inner.name = "inner"
    del inner.input[:]
    inner.input.extend(argument.name for argument in body.signature.input_arg)
    body.control_ret["inner"] = "inner"
    body.signature.control_output.append("inner")
    with pytest.raises(CaptureError, match="inside of which it is"):
        capture_graph_def(definition)


def test_damaged_files_are_one_line_or_a_graph(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes changed, removed and repeated at random places of a graph with a function."""
    call = tf.function(lambda x: tf.matmul(x, x))
    raw = tf.function(lambda x: call(x) + x).get_concrete_function(tf.TensorSpec([4, 4])).graph.as_graph_def().SerializeToString()
    draw = random.Random(7)
    codes = set()
    for _ in range(150):
        (folder / "g.pb").write_bytes(damaged(raw, draw, 3))
        codes.add(code := main(["g.pb", "-o", "g.h5", "--unknown-dim", "3"]))
        error = capsys.readouterr().err
        assert code == 0 or (code == 3 and error.count("\n") == 1), error
    assert codes == {0, 3}


def test_an_operation_that_waits_for_very_many_costs_no_more_than_that() -> None:
    """A NoOp behind 20,000 IdentityN: it was sorted by place, each place found by a search."""
    count = 20_000
    nodes = "".join(f'node {{ name: "i{n}" op: "IdentityN" input: "x" attr {{ key: "T" value {{ list {{ type: DT_FLOAT }} }} }} }}' for n in range(count))
    waits = "".join(f'input: "^i{n}" ' for n in range(count))
    graph = capture_graph_def(graph_of(X % (4, 4) + nodes + f'node {{ name: "all" op: "NoOp" {waits} }}'))
    assert graph.num_edges >= 2 * count
