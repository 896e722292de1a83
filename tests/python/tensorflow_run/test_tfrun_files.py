"""Files: what is written, what stays as it is, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from pardnn import Graph, GraphBuilder, write_graph  # noqa: E402
from pardnn.capture_common import Report  # noqa: E402
from pardnn.place_tensorflow import PlaceError, main, place_file, place_graph_def, placed_session  # noqa: E402
from pardnn.runtime.placement import placed, read_placement  # noqa: E402
from pardnn.tensorflow_run.assign import Assignment, assign  # noqa: E402
from pardnn.tensorflow_run.device_names import device_names  # noqa: E402
from pardnn.tensorflow_run.kernels import has_gpu_kernel  # noqa: E402

tf1 = tf.compat.v1


def parsed(path: Path) -> Any:
    return tf1.GraphDef.FromString(path.read_bytes())


def without_devices(definition: Any) -> Any:
    bare = tf1.GraphDef()
    bare.CopyFrom(definition)
    for node in bare.node:
        node.device = ""
    return bare


def chosen(graph: Graph, devices: dict[str, int], count: int = 2) -> Any:
    """A placement with the named nodes on these devices, all others on 0."""
    return placed(graph, np.array([devices.get(name, 0) for name in graph.names]), count)


def graph_of(*nodes: tuple[str, str]) -> Graph:
    """A graph of (name, operation) without edges."""
    builder = GraphBuilder("g")
    for name, op in nodes:
        builder.node(name, op=op, comp=1, mem=4)
    return builder.build()


@pytest.mark.parametrize("model", ["mlp", "rnn"])
def test_the_file_is_the_same_but_for_the_devices(model: str, case: Callable[[str], Any], capsys: pytest.CaptureFixture[str]) -> None:
    made = case(model)
    out = made.folder / "placed.pb"
    assert main([str(made.folder / "step.pb"), str(made.folder / "g.h5"), str(made.placement(4)), "-o", str(out)]) == 0
    said = capsys.readouterr().out
    result = parsed(out)
    assert without_devices(result) == without_devices(made.step.graph_def)
    device = dict(zip(made.graph.names, read_placement(made.placement(4), made.graph).device.tolist()))
    assert all(node.device == f"/device:CPU:{device[node.name]}" for node in result.node if node.name in device)
    assert f"{made.graph.num_nodes:,} nodes placed by the placement" in said and "that the capture left out" in said
    for i in range(4):
        assert f"device    cpu:{i}: {sum(node.device.endswith(f':{i}') for node in result.node):,} nodes" in said
    assert result == place_graph_def(made.step.graph_def, made.graph, read_placement(made.placement(4), made.graph))


@pytest.mark.parametrize("model", ["mlp", "rnn", "convnet"])
def test_colocation_is_kept(model: str, case: Callable[[str], Any]) -> None:
    """``_class`` is as it was, and what it ties is on one device; so is a variable with all that takes it by reference or handle."""
    made = case(model)
    result = place_graph_def(made.step.graph_def, made.graph, read_placement(made.placement(4), made.graph))
    device = {node.name: node.device for node in result.node}
    tied = [(node.name, place.decode()[5:]) for node in result.node for place in node.attr["_class"].list.s if place.startswith(b"loc:@")]
    assert all(device[name] == device[leader] for name, leader in tied if leader in device)
    assert (len(tied) > 20) == (model != "convnet")
    variables = {node.name for node in result.node if node.op in ("VariableV2", "VarHandleOp")}
    updates = [node for node in result.node if node.op.startswith(("Apply", "ResourceApply", "Assign"))]
    assert updates and all(device[i] == device[node.name] for node in updates for i in node.input if i in variables)


def test_initialisers_follow_their_variable(case: Callable[[str], Any]) -> None:
    """With ``_class`` (get_variable) and without (a Variable's own initial value)."""
    mlp = case("mlp")
    result = {n.name: n.device for n in place_graph_def(mlp.step.graph_def, mlp.graph, read_placement(mlp.placement(4), mlp.graph)).node}
    assert all(result[f"l{i}/w/Initializer/random_uniform"] == result[f"l{i}/w"] for i in range(4))
    conv = case("convnet")
    result = {n.name: n.device for n in place_graph_def(conv.step.graph_def, conv.graph, read_placement(conv.placement(4), conv.graph)).node}
    assert result["random_normal"] == result["w0"] and result["random_normal_2"] == result["w2"]


def test_left_out_nodes_are_counted(case: Callable[[str], Any]) -> None:
    made = case("mlp")
    report = Report()
    result = place_graph_def(made.step.graph_def, made.graph, read_placement(made.placement(2), made.graph), report=report)
    counts = [int(line.split()[0].replace(",", "")) for line in report.lines() if "placed by the placement" in line or "left out" in line]
    assert sum(counts) == len(result.node)
    assert {n.name: n.device for n in result.node}["init"] == "/device:CPU:0"


def test_calls_keep_their_names_for_fetches() -> None:
    """A call is laid flat; its outputs and its effects can still be had under its name."""
    with tf.Graph().as_default() as graph:
        v = tf.Variable(1.0, name="v")

        @tf.function
        def twice(x: Any) -> Any:
            v.assign_add(1.0)
            return x + 1.0, x * 2.0

        first, second = twice(tf1.placeholder(tf.float32, [], name="x"))
        call = first.op.name
        tf1.global_variables_initializer()
    definition = graph.as_graph_def()
    from pardnn.capture_tensorflow import capture_graph_def

    captured = capture_graph_def(definition, fetches=[call])
    add = next(name for name in captured.names if name.startswith(f"{call}/") and captured.op_name(captured.names.index(name)) == "AddV2")
    result = place_graph_def(definition, captured, chosen(captured, {add: 1}))
    with placed_session(result) as session:
        session.run("init")
        assert session.run([f"{call}:0", f"{call}:1"], {"x:0": 3.0}) == [4.0, 6.0]
        session.run(call, {"x:0": 3.0})
        assert session.run("v/Read/ReadVariableOp:0") == 3.0
    assert not any(node.op.endswith("PartitionedCall") for node in result.node)
    assert [f.signature.name for f in result.library.function] == [f.signature.name for f in definition.library.function]


def weights_file(path: Path, rows: int = 160) -> Graph:
    """A GraphDef with a constant of 80 KiB or more, whose values the capture drops on reading."""
    with tf.Graph().as_default() as graph:
        c = tf.constant(np.random.RandomState(0).rand(rows, 128).astype(np.float32), name="c")
        tf.identity(c, name="i")
    definition = graph.as_graph_def()
    definition.node[1].device = "/device:GPU:7"
    path.write_bytes(definition.SerializeToString())
    return graph_of(("c", "Const"), ("i", "Identity"))


@pytest.mark.parametrize("rows", [160, 5000])
def test_weights_go_through_whole(rows: int, tmp_path: Path) -> None:
    """Nodes of any size: those above 1 MiB are copied in pieces."""
    graph = weights_file(tmp_path / "a.pb", rows)
    report = Report()
    assert place_file(tmp_path / "a.pb", graph, chosen(graph, {"i": 1}), tmp_path / "b.pb", report=report) == ["/device:CPU:0", "/device:CPU:1"]
    assert without_devices(parsed(tmp_path / "b.pb")) == without_devices(parsed(tmp_path / "a.pb"))
    assert report.of("nodes whose own device is replaced") == 1
    assert (tmp_path / "b.pb").stat().st_size < (tmp_path / "a.pb").stat().st_size + 40  # the old device is gone
    place_file(tmp_path / "a.pb", graph, chosen(graph, {"i": 1}), tmp_path / "a.pb")  # in its own place
    assert (tmp_path / "a.pb").read_bytes() == (tmp_path / "b.pb").read_bytes()


def test_text_files(tmp_path: Path) -> None:
    from google.protobuf import text_format

    graph = weights_file(tmp_path / "a.pb")
    place_file(tmp_path / "a.pb", graph, chosen(graph, {"i": 1}), tmp_path / "b.pbtxt")
    place_file(tmp_path / "b.pbtxt", graph, chosen(graph, {"c": 1}), tmp_path / "c.pb")
    assert [n.device for n in text_format.Parse((tmp_path / "b.pbtxt").read_text(), tf1.GraphDef()).node] == ["/device:CPU:0", "/device:CPU:1"]
    assert [n.device for n in parsed(tmp_path / "c.pb").node] == ["/device:CPU:1", "/device:CPU:0"]
    assert without_devices(parsed(tmp_path / "c.pb")) == without_devices(parsed(tmp_path / "a.pb"))


def test_gpus_and_what_has_no_kernel_there(tmp_path: Path) -> None:
    """A node without a GPU kernel is on the host, and with it all that TensorFlow keeps on its device."""
    with tf.Graph().as_default() as graph_of_tf:
        tf.identity(tf1.get_variable("w", [2], use_resource=True), name="out")
    definition = graph_of_tf.as_graph_def()
    graph = graph_of(("w", "VarHandleOp"), ("out", "Identity"))
    report = Report()
    found = assign(definition, graph, np.array([1, 0]), report)
    names = dict(zip((n.name for n in definition.node), device_names(definition, found, "gpu", report, lambda node: node.op != "ReadVariableOp")))
    assert names["w"] == names["w/Assign"] == "/device:CPU:0"
    assert names["out"] == "/device:GPU:0"
    assert names["w/Initializer/random_uniform"] == "/device:CPU:0"  # tied by its _class
    moved = sum(name == "/device:CPU:0" for name in names.values())
    assert report.of("nodes on the host, as they or their group have no kernel for GPUs") == moved > 4
    all_on_gpu = device_names(definition, found, "gpu", Report(), lambda node: True)
    assert all(name.startswith("/device:GPU:") for name in all_on_gpu)
    with pytest.raises(PlaceError, match="expected cpu or gpu"):
        device_names(definition, Assignment([], []), "tpu", Report())


def test_kernels_are_those_of_this_tensorflow() -> None:
    node = tf1.NodeDef(name="s", op="SaveV2")
    assert not has_gpu_kernel(node)
    shape = tf1.NodeDef(name="n", op="NoOp")
    assert has_gpu_kernel(shape)
    integers, strings = tf1.NodeDef(name="c", op="Const"), tf1.NodeDef(name="c", op="Const")
    integers.attr["dtype"].type, strings.attr["dtype"].type = tf.int32.as_datatype_enum, tf.string.as_datatype_enum
    assert has_gpu_kernel(integers) and not has_gpu_kernel(strings)


def files_of_a_pair(folder: Path, graph: Graph, devices: list[int]) -> list[str]:
    """Arguments for the command line: graph and placement."""
    write_graph(folder / "g.h5", graph)
    (folder / "p.tsv").write_text("".join(f"{name}\t{device}\n" for name, device in zip(graph.names, devices)))
    return [str(folder / "g.h5"), str(folder / "p.tsv")]


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line with which the command line refuses; nothing is written."""
    out = Path(arguments[arguments.index("-o") + 1])
    before = sorted(out.parent.glob("*")) if out.parent.is_dir() else []
    capsys.readouterr()
    assert main(arguments) == 3
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith("error: ") and told.err.count("\n") == 1
    assert before == (sorted(out.parent.glob("*")) if out.parent.is_dir() else [])
    return told.err


@pytest.mark.parametrize(("nodes", "devices", "options", "expected"), [
    ([("c", "Const"), ("x", "Relu")], [0, 1], [], "node 'x' of the graph is not in the GraphDef"),
    ([("c", "Const"), ("i", "Relu")], [0, 1], [], "node 'i' is Relu in the graph and Identity in the GraphDef"),
    ([("c", "Const"), ("i", "Identity")], [0, 3], ["--count", "2"], "uses 4 devices, there are 2 (--count)"),
    ([("c", "Const"), ("i", "Identity")], [0], [], "places 1 nodes, the graph has 2; is it of another graph?"),
])
def test_wrong_graphs_and_devices(nodes: list[tuple[str, str]], devices: list[int], options: list[str], expected: str, tmp_path: Path,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    weights_file(tmp_path / "a.pb")
    pair = files_of_a_pair(tmp_path, graph_of(*nodes), devices)
    assert expected in refused([str(tmp_path / "a.pb"), *pair, "-o", str(tmp_path / "b.pb"), *options], capsys)


def test_wrong_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = weights_file(tmp_path / "a.pb")
    source, pair, out = str(tmp_path / "a.pb"), files_of_a_pair(tmp_path, graph, [0, 1]), str(tmp_path / "b.pb")
    (tmp_path / "cut.pb").write_bytes((tmp_path / "a.pb").read_bytes()[:-1000])
    (tmp_path / "empty.pb").write_bytes(b"")
    assert "truncated" in refused([str(tmp_path / "cut.pb"), *pair, "-o", out], capsys)
    assert "no nodes" in refused([str(tmp_path / "empty.pb"), *pair, "-o", out], capsys)
    assert "No such file" in refused([str(tmp_path / "none.pb"), *pair, "-o", out], capsys)
    assert "its folder does not exist" in refused([source, *pair, "-o", str(tmp_path / "no/b.pb")], capsys)
    assert "not an HDF5 file" in refused([source, source, pair[1], "-o", out], capsys)
    assert "ends in .h5, .tsv or .json" in refused([source, pair[0], source, "-o", out], capsys)


def test_a_placement_of_another_graph_is_refused_by_its_fingerprint(case: Callable[[str], Any], capsys: pytest.CaptureFixture[str]) -> None:
    """In a process of its own, which does not need TensorFlow for that."""
    mlp, rnn = case("mlp"), case("rnn")
    done = subprocess.run([sys.executable, "-m", "pardnn.place_tensorflow", str(mlp.folder / "step.pb"), str(mlp.folder / "g.h5"), str(rnn.placement(2)),
                           "-o", str(mlp.folder / "none.pb")], capture_output=True, text=True, env=dict(os.environ), timeout=60)
    assert done.returncode == 3 and done.stdout == "" and done.stderr.count("\n") == 1
    assert "is it of another graph?" in done.stderr and not (mlp.folder / "none.pb").exists()


def test_a_group_on_two_devices_is_refused(case: Callable[[str], Any]) -> None:
    """A _class that the capture did not see ties two nodes that the placement has apart."""
    made = case("rnn")
    definition = tf1.GraphDef()
    definition.CopyFrom(made.step.graph_def)
    placement = read_placement(made.placement(2), made.graph)
    device = dict(zip(made.graph.names, placement.device.tolist()))
    free = [n for n in definition.node if n.name in device and "_class" not in n.attr and n.op in ("MatMul", "Tanh", "Sigmoid", "Mul")]
    one, other = next(n for n in free if device[n.name] == 0), next(n for n in free if device[n.name] == 1)
    other.attr["_class"].list.s.append(f"loc:@{one.name}".encode())
    with pytest.raises(PlaceError, match="but TensorFlow keeps them on one") as told:
        place_graph_def(definition, made.graph, placement)
    assert f"'{one.name}'" in str(told.value) and f"'{other.name}'" in str(told.value)


def test_sessions_refuse_devices_that_are_not_there(tmp_path: Path) -> None:
    graph = weights_file(tmp_path / "a.pb")
    definition = parsed(tmp_path / "a.pb")
    placement = chosen(graph, {"i": 3}, 4)
    with pytest.raises(PlaceError, match=r"placed on 4 devices \(cpu\), there are 2"):
        placed_session(place_graph_def(definition, graph, placement), 2)
    gpus = len(tf.config.list_physical_devices("GPU"))
    if gpus < 4:
        report = Report()
        on_gpus = place_graph_def(definition, graph, placement, kind="gpu", report=report)
        assert [n.device for n in on_gpus.node] == ["/device:GPU:0", "/device:GPU:3"]
        with pytest.raises(PlaceError, match=rf"placed on 4 devices \(gpu\), there are {gpus}"):
            placed_session(on_gpus)
    definition.node[1].device = ""
    with pytest.raises(PlaceError, match="has no device"):
        placed_session(definition)


def test_functions_by_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.py").write_text(
        "import tensorflow as tf\n\nv = tf.Variable(tf.ones([4, 4]), name='v')\n\n\n@tf.function\ndef step(x):\n"
        "    v.assign_sub(0.1 * tf.matmul(x, v))\n    return tf.reduce_sum(v)\n\n\ndef make():\n    return step, [tf.TensorSpec([4, 4])]\n")
    from pardnn.capture_tensorflow import main as capture

    source = f"{tmp_path / 'model.py'}:make"
    assert capture([source, "-o", str(tmp_path / "g.h5")]) == 0
    from pardnn import read_graph

    graph = read_graph(tmp_path / "g.h5")
    pair = files_of_a_pair(tmp_path, graph, [int(op in ("Sum", "Identity")) for op in map(graph.op_name, range(graph.num_nodes))])
    assert main([source, *pair, "-o", str(tmp_path / "p.pb")]) == 0
    said = capsys.readouterr().out
    assert "fetches   " in said and "outputs   Identity:0" in said
    assert sum(node.device == "/device:CPU:1" for node in parsed(tmp_path / "p.pb").node) >= 1
