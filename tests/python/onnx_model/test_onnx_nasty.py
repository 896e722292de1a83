"""Nasty ONNX models and options: one line, exit code 3 and no file; whatever the bytes, never a traceback."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

onnx = pytest.importorskip("onnx")

from damage import damaged  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

from pardnn.capture_onnx import capture, main  # noqa: E402
from pardnn.capture_common import CaptureError  # noqa: E402
from pardnn.graph_file import read_graph  # noqa: E402


def model_of(*nodes: Any, dims: tuple[int, ...] = (4, 4), initializers: tuple[Any, ...] = ()) -> Any:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    return helper.make_model(helper.make_graph(list(nodes), "g", [x], [y], initializers))


RELU = helper.make_node("Relu", ["x"], ["y"], name="größe-模型")


def broken_scan() -> Any:
    body = helper.make_graph([helper.make_node("Relu", ["a"], ["b"])], "body", [helper.make_tensor_value_info("a", TensorProto.FLOAT, (4,))],
                             [helper.make_tensor_value_info("b", TensorProto.FLOAT, (4,))])
    return helper.make_node("Scan", ["x"], ["y"], body=body)


@pytest.fixture
def source(tmp_path: Path) -> str:
    onnx.save(model_of(RELU), str(tmp_path / "m.onnx"))
    (tmp_path / "folder.onnx").mkdir()
    return str(tmp_path / "m.onnx")


@pytest.mark.parametrize(("more", "message"), [
    (["--dim", "x"], "--dim x: expected NAME=SIZE"), (["--dim", "x=-1"], "--dim x=-1: expected"), (["--dim", "x=" + "9" * 30], "expected NAME=SIZE"),
    (["--dim", "x=3"], "no input, output or value has a dimension of that name"), (["-o", "/dev/null"], "expected the name of a file"),
    (["-o", "no/such/g.h5"], "its folder does not exist"), (["--mapping", "no/such/m.tsv"], "no/such/m.tsv: its folder does not exist"),
    (["--costs", "roofline:V0"], "device 'V0': unknown")])
def test_options(source: str, more: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([source, *([] if "-o" in more else ["-o", str(tmp_path / "g.h5")]), *more]) == 3
    error = capsys.readouterr().err
    assert message in error and error.startswith("pardnn.capture_onnx: ") and error.count("\n") == 1 and not (tmp_path / "g.h5").exists()


@pytest.mark.parametrize("more", [["--samples", "0"], ["--unknown-dim", "-4"], ["--iterations", "many"]])
def test_wrong_usage(source: str, more: list[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stop:
        main([source, "-o", str(tmp_path / "g.h5"), *more])
    assert stop.value.code == 3


def test_a_folder_is_no_model(source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "folder.onnx"), "-o", str(tmp_path / "g.h5")]) == 3
    assert "folder.onnx: Is a directory" in capsys.readouterr().err


def test_names_in_any_script(source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([source, "-o", str(tmp_path / "größe.h5"), "--name", "模型\x1b[31m"]) == 0
    assert read_graph(tmp_path / "größe.h5").names == ["x", "größe-模型"]
    out = capsys.readouterr().out
    assert "模型?[31m" in out and "samples a step unknown, taken as 1" in out


@pytest.mark.parametrize(("model", "message"), [
    (model_of(RELU, dims=(2**40, 2**40)), "exceeds 63 bits"),
    (model_of(RELU, dims=(2**30, 2**30)), "of all nodes exceeds 63 bits"),
    (model_of(helper.make_node("Reshape", ["", "s"], ["y"]), initializers=(helper.make_tensor("s", TensorProto.INT64, (1,), [16]),)), "tensor 'y'"),
    (model_of(broken_scan()), "tensor 'y'"),
    (model_of(helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Relu", ["x"], ["y"])), "is written by"),
])
def test_models(model: Any, message: str) -> None:
    with pytest.raises(CaptureError, match=message) as error:
        capture(model)
    assert "\n" not in str(error.value)


def test_a_scan_without_its_attributes_and_a_view_of_nothing_are_captured_where_a_size_is_told() -> None:
    assert capture(model_of(broken_scan()), unknown_dim=4).num_nodes == 2
    shape = helper.make_tensor("s", TensorProto.INT64, (1,), [16])
    assert capture(model_of(helper.make_node("Reshape", ["", "s"], ["y"]), initializers=(shape,)), unknown_dim=4).num_nodes == 2


def test_damaged_files_are_one_line_or_a_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes changed, removed and repeated at random places."""
    weight = helper.make_tensor("w", TensorProto.FLOAT, (4, 4), [0.5] * 16)
    shape = helper.make_tensor("s", TensorProto.INT64, (2,), [2, 8])
    raw = model_of(helper.make_node("MatMul", ["x", "w"], ["h"], name="product"), helper.make_node("Reshape", ["h", "s"], ["r"]), broken_scan(),
                   initializers=(weight, shape)).SerializeToString()
    draw = random.Random(7)
    codes = set()
    for _ in range(150):
        (tmp_path / "m.onnx").write_bytes(damaged(raw, draw, 4))
        codes.add(code := main([str(tmp_path / "m.onnx"), "-o", str(tmp_path / "g.h5"), "--unknown-dim", "3"]))
        error = capsys.readouterr().err
        assert code == 0 or (code == 3 and error.count("\n") == 1), error
    assert codes == {0, 3}
