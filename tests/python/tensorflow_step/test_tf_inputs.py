"""Inputs that users of other tools tripped over: names, cycles, unknown shapes, broken and large files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
tf = pytest.importorskip("tensorflow")

from google.protobuf import text_format  # noqa: E402
from tensorflow.core.framework import graph_pb2, node_def_pb2, step_stats_pb2  # noqa: E402
from tensorflow.core.protobuf import config_pb2  # noqa: E402

import pardnn  # noqa: E402
from pardnn.capture_common import CaptureError, Costing  # noqa: E402
from pardnn.capture_tensorflow import capture_graph_def, capture_with_report, main  # noqa: E402
from pardnn.costs import cost_model  # noqa: E402
from pardnn.tensorflow_step.graph_def_file import read_graph_def  # noqa: E402
from pardnn.tensorflow_step.run_metadata import Lane, lane_of, profile_of, read_profile  # noqa: E402


def graph_of(text: str) -> Any:
    return text_format.Parse(text, graph_pb2.GraphDef())


def placeholder(name: str, *shape: int) -> str:
    dims = "".join(f"dim {{ size: {d} }}" for d in shape)
    kind = 'attr { key: "dtype" value { type: DT_FLOAT } }'
    return f'node {{ name: "{name}" op: "Placeholder" {kind} attr {{ key: "shape" value {{ shape {{ {dims} }} }} }} }}'


def node(name: str, op: str, *inputs: str, attr: str = 'attr { key: "T" value { type: DT_FLOAT } }') -> str:
    return f'node {{ name: "{name}" op: "{op}" {" ".join(f"""input: "{i}" """ for i in inputs)} {attr} }}'


def metadata_of(*lanes: tuple[str, list[tuple[str, int, int]]]) -> Any:
    """RunMetadata of lanes with (node, start, end) in us."""
    metadata = config_pb2.RunMetadata()
    for device, entries in lanes:
        stats = metadata.step_stats.dev_stats.add()
        stats.device = device
        for name, start, end in entries:
            entry = stats.node_stats.add()
            entry.node_name, entry.all_start_micros, entry.op_end_rel_micros = name, start, end - start
    return metadata


SPLIT = 'attr { key: "T" value { type: DT_FLOAT } } attr { key: "num_split" value { i: 2 } }'


class TestNames:
    """E17: x, x:0, x:1 and ^x are one node."""

    graph = graph_of(placeholder("v", 4, 6)
                     + 'node { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor { '
                       'dtype: DT_INT32 tensor_shape {} int_val: 1 } } } }'
                     + node("x", "Split", "axis", "v", attr=SPLIT) + node("a", "Relu", "x") + node("b", "Relu", "x:0") + node("c", "Relu", "x:1")
                     + node("d", "NoOp", "^x", attr="") + node("e", "Add", "x", "x:1"))

    def test_all_forms_lead_to_one_node(self) -> None:
        graph = capture_graph_def(self.graph)
        x = graph.names.index("x")
        edges = {(graph.names[t], o): b for s, t, b, o in zip(graph.source, graph.target, graph.bytes, graph.output) if s == x}
        assert graph.names.count("x") == 1
        assert edges == {("a", 0): 48, ("b", 0): 48, ("c", 1): 48, ("d", 0): 0, ("e", 0): 48, ("e", 1): 48}
        assert graph.mem[x] == 96

    def test_an_input_that_is_nowhere_is_named(self) -> None:
        with pytest.raises(CaptureError, match="node 'a' reads 'ghost:1', but there is no node 'ghost'"):
            capture_graph_def(graph_of(node("a", "Relu", "ghost:1")))

    def test_a_name_that_is_twice_there_is_refused(self) -> None:
        with pytest.raises(CaptureError, match="'v' is there twice"):
            capture_graph_def(graph_of(placeholder("v", 1) + placeholder("v", 1)))


class TestLoops:
    """E12: real cycles are found at once and cut only when asked."""

    @pytest.fixture
    def loop(self) -> Any:
        with tf.Graph().as_default() as graph:
            tf.compat.v1.disable_control_flow_v2()
            try:
                x = tf.compat.v1.placeholder(tf.float32, [4, 4], name="x")
                tf.identity(tf.while_loop(lambda h: tf.reduce_sum(h) < 10, lambda h: tf.matmul(h, h), [x]), name="out")
            finally:
                tf.compat.v1.enable_control_flow_v2()
        return graph.as_graph_def()

    def test_the_cycle_is_printed(self, loop: Any) -> None:
        with pytest.raises(CaptureError, match=r"^cycle: .*NextIteration.* -> .*Merge.*--cut-loops"):
            capture_graph_def(loop)

    def test_it_is_cut_at_the_back_edge_when_asked(self, loop: Any, tmp_path: Path, pardnn_binary: str) -> None:
        graph, report = capture_with_report(loop, costing=Costing(cost_model("roofline:V100")), cut_loops=True)
        assert report.of("loops cut at their back edge: each counts for one iteration, unless measured") == 1
        merge = next(n for n in range(graph.num_nodes) if graph.op_name(n) == "Merge")
        assert [graph.op_name(int(s)) for s in graph.source[graph.target == merge]] == ["Enter"]
        pardnn.write_graph(tmp_path / "g.h5", graph)
        subprocess.run([pardnn_binary, "validate", str(tmp_path / "g.h5")], check=True, capture_output=True)

    def test_five_nodes(self) -> None:
        frame = 'attr { key: "T" value { type: DT_FLOAT } } attr { key: "frame_name" value { s: "f" } }'
        merge = 'attr { key: "T" value { type: DT_FLOAT } } attr { key: "N" value { i: 2 } }'
        text = (placeholder("x", 4) + node("enter", "Enter", "x", attr=frame) + node("merge", "Merge", "enter", "next", attr=merge)
                + node("next", "NextIteration", "merge") + node("exit", "Exit", "merge"))
        with pytest.raises(CaptureError, match=r"cycle: (merge.*next.*merge|next.*merge.*next)"):
            capture_graph_def(graph_of(text))

    def test_a_cycle_that_is_no_loop_stays_refused(self) -> None:
        text = node("a", "Relu", "b") + node("b", "Relu", "a")
        with pytest.raises(CaptureError, match="^cycle: a .* -> b .* -> a"):
            capture_graph_def(graph_of(text), cut_loops=True)


class TestUnknownShapes:
    """E16: what is unknown is refused, or taken as told and counted."""

    text = ('node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { '
            'dim { size: -1 } dim { size: 6 } } } } }' + node("y", "Relu", "x"))

    def test_the_tensor_is_named(self) -> None:
        with pytest.raises(CaptureError, match=r"tensor 'x' has shape \[\?, 6\]: expected --feed"):
            capture_graph_def(graph_of(self.text))

    def test_a_fed_shape_is_inferred_on(self) -> None:
        graph = capture_graph_def(graph_of(self.text), feeds={"x": [5, 6]})
        assert graph.mem.tolist() == [120, 120]

    def test_a_size_for_unknown_dimensions_is_counted(self) -> None:
        graph, report = capture_with_report(graph_of(self.text), unknown_dim=3, costing=Costing(cost_model("roofline:V100")))
        assert graph.mem.tolist() == [72, 72]
        assert report.of("tensors with unknown dimensions, each taken as 3") == 2

    def test_the_profile_knows(self) -> None:
        metadata = metadata_of(("/device:CPU:0", [("x", 0, 1), ("y", 1, 3)]))
        for entry in metadata.step_stats.dev_stats[0].node_stats:
            entry.output.add().tensor_description.dtype = 1
            for size in (7, 6):
                entry.output[0].tensor_description.shape.dim.add().size = size
        assert capture_graph_def(graph_of(self.text), profile=metadata).mem.tolist() == [168, 168]

    def test_what_the_profile_was_fed_is_inferred_on(self) -> None:
        metadata = metadata_of(("/device:CPU:0", [("_arg_x_0_0", 0, 1), ("y", 1, 3)]))
        fed = metadata.step_stats.dev_stats[0].node_stats[0].output.add().tensor_description
        fed.dtype = 1
        for size in (9, 6):
            fed.shape.dim.add().size = size
        assert capture_graph_def(graph_of(self.text), profile=metadata).mem.tolist() == [216, 216]

    def test_a_feed_that_is_no_placeholder_is_refused(self) -> None:
        with pytest.raises(CaptureError, match="feed 'y': is a Relu, expected a Placeholder"):
            capture_graph_def(graph_of(self.text), feeds={"y": [1]})


CHAIN = placeholder("x", 4) + node("y", "Relu", "x") + node("z", "Relu", "y")
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


class TestProfiles:
    def test_an_op_on_several_lanes_counts_once(self) -> None:
        """E1: the kernels of stream:all, neither the launch nor the single stream beside them."""
        metadata = metadata_of((GPU, [("y", 0, 90), ("z", 90, 95)]), (f"{GPU}/stream:all", [("y:Relu", 100, 130), ("y:Relu", 140, 150)]),
                               (f"{GPU}/stream:13", [("y:Relu", 100, 130), ("y:Relu", 140, 150)]), (f"{GPU}/memcpy", [("y", 0, 70)]))
        graph = capture_graph_def(graph_of(CHAIN), profile=metadata)
        assert graph.comp.tolist() == [0, 40_000, 5_000]

    def test_single_streams_add_up_without_the_lane_of_all(self) -> None:
        metadata = metadata_of((GPU, [("y", 0, 90)]), (f"{GPU}/stream:13", [("y", 100, 130)]), (f"{GPU}/stream:14", [("y", 100, 107)]))
        assert profile_of(metadata).nodes["y"].ns == 37_000

    def test_an_entry_that_is_repeated_is_one_event(self) -> None:
        metadata = metadata_of(("/device:CPU:0", [("y", 10, 30), ("y", 10, 30), ("y", 40, 45)]))
        assert profile_of(metadata).nodes["y"].ns == 25_000
        assert profile_of(metadata).nodes["y"].runs == 2

    @pytest.mark.parametrize(("device", "lane"), [(GPU, Lane.DEVICE), ("/gpu:0", Lane.DEVICE), ("/gpu:0/stream:all", Lane.ALL_STREAMS),
                                                  (f"{GPU}/stream:7", Lane.STREAM), ("/device:GPU:0/memcpy", Lane.COPIES), ("/cpu:0", Lane.DEVICE)])
    def test_lanes(self, device: str, lane: Lane) -> None:
        assert lane_of(device) == lane

    def test_an_empty_profile_is_an_error(self) -> None:
        """E2."""
        with pytest.raises(CaptureError, match="step_stats is empty"):
            capture_graph_def(graph_of(CHAIN), profile=config_pb2.RunMetadata())

    def test_a_profile_of_another_graph_is_an_error(self) -> None:
        with pytest.raises(CaptureError, match="none of its 1 nodes is in the graph"):
            capture_graph_def(graph_of(CHAIN), profile=metadata_of(("/device:CPU:0", [("other", 0, 1)])))

    def test_what_the_profile_lacks_is_modelled_and_told(self) -> None:
        """E2: no silent zeros."""
        costing = Costing(cost_model("roofline:V100"))
        graph, report = capture_with_report(graph_of(CHAIN), fetches=["z"], profile=metadata_of(("/device:CPU:0", [("y", 0, 8)])), costing=costing)
        assert graph.comp[1] == 8_000 and graph.comp[2] > 0
        assert "the profile has 1 of 3 nodes (33.3 %)" in report.lines()
        assert "measured 50.0 % of 2 nodes" in costing.coverage.line()

    def test_a_time_that_runs_backwards_is_refused_or_taken_as_told(self) -> None:
        """E16."""
        metadata = metadata_of(("/device:CPU:0", [("y", 10, 5)]))
        with pytest.raises(CaptureError, match="node 'y': its time is unknown"):
            capture_graph_def(graph_of(CHAIN), fetches=["z"], profile=metadata)
        costing = Costing(cost_model("roofline:V100"), unknown_ns=77)
        graph, _ = capture_with_report(graph_of(CHAIN), fetches=["z"], profile=metadata, costing=costing)
        assert graph.comp[1] == 77 and "1 unknown times taken as 77 ns" in costing.coverage.line()

    def test_allocations_peak(self) -> None:
        metadata = metadata_of(("/device:CPU:0", [("y", 0, 8)]))
        memory = metadata.step_stats.dev_stats[0].node_stats[0].memory.add()
        for when, size in ((1, 100), (2, 50), (3, -100), (3, 80), (9, -80), (9, -50)):
            record = memory.allocation_records.add()
            record.alloc_micros, record.alloc_bytes = when, size
        assert profile_of(metadata).allocator_peak() == 150

    def test_a_file_gives_the_same_as_the_message(self, tmp_path: Path, mlp: Any) -> None:
        (tmp_path / "rm.pb").write_bytes(mlp.metadata.SerializeToString())
        from_file, from_message = read_profile(tmp_path / "rm.pb"), profile_of(mlp.metadata)
        assert {n: p.ns for n, p in from_file.nodes.items()} == {n: p.ns for n, p in from_message.nodes.items()}
        assert from_file.allocator_peak() == from_message.allocator_peak()


class TestFiles:
    @pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"not a graph at all, just text\n", b"\x0a\xff\xff\xff\xff\x0fabc"])
    def test_what_is_no_graph_is_one_line_and_exit_3(self, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "g.pb").write_bytes(content)
        assert main([str(tmp_path / "g.pb"), "-o", str(tmp_path / "g.h5")]) == 3
        error = capsys.readouterr().err
        assert error.startswith("pardnn.capture_tensorflow: ") and error.count("\n") == 1 and "g.pb" in error
        assert not (tmp_path / "g.h5").exists()

    def test_a_missing_file_is_named(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([str(tmp_path / "none.pb"), "-o", str(tmp_path / "g.h5")]) == 3
        assert "none.pb: No such file" in capsys.readouterr().err

    def test_a_truncated_file_is_told(self, mlp: Any, tmp_path: Path) -> None:
        whole = mlp.graph_def.SerializeToString()
        (tmp_path / "g.pb").write_bytes(whole[:len(whole) // 2])
        with pytest.raises(CaptureError, match="truncated"):
            read_graph_def(tmp_path / "g.pb")

    def test_text_and_binary_are_alike(self, tmp_path: Path, mlp: Any) -> None:
        (tmp_path / "g.pb").write_bytes(mlp.graph_def.SerializeToString())
        (tmp_path / "g.pbtxt").write_text(text_format.MessageToString(mlp.graph_def))
        assert read_graph_def(tmp_path / "g.pb") == read_graph_def(tmp_path / "g.pbtxt") == mlp.graph_def

    def test_the_command_line_writes_a_graph(self, mlp: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "g.pb").write_bytes(mlp.graph_def.SerializeToString())
        (tmp_path / "rm.pb").write_bytes(mlp.metadata.SerializeToString())
        assert main([str(tmp_path / "g.pb"), "-o", str(tmp_path / "g.h5"), "--fetch", "train", "--profile", str(tmp_path / "rm.pb"),
                     "--samples", "64", "--name", "mlp"]) == 0
        graph = pardnn.read_graph(tmp_path / "g.h5")
        assert (graph.name, graph.samples_per_step) == ("mlp", 64)
        out = capsys.readouterr().out
        assert "measured" in out and "nodes dropped that the step does not need" in out


def write_large_graph(path: Path, megabytes: int) -> None:
    """A chain of Relus beside constants of 8 MiB each."""
    content = bytes(8 << 20)
    with open(path, "wb") as file:
        def put(message: Any) -> None:
            graph = graph_pb2.GraphDef()
            graph.node.append(message)
            file.write(graph.SerializeToString())

        put(text_format.Parse(placeholder("x", 1024, 2048), graph_pb2.GraphDef()).node[0])
        before = "x"
        for i in range(megabytes // 8):
            constant = node_def_pb2.NodeDef(name=f"c{i}", op="Const")
            constant.attr["dtype"].type = 1
            constant.attr["value"].tensor.dtype = 1
            for size in (1024, 2048):
                constant.attr["value"].tensor.tensor_shape.dim.add().size = size
            constant.attr["value"].tensor.tensor_content = content
            put(constant)
            put(text_format.Parse(node(f"a{i}", "Add", before, f"c{i}"), graph_pb2.GraphDef()).node[0])
            before = f"a{i}"


def write_large_profile(path: Path, megabytes: int) -> None:
    """Entries of 1,000 nodes, again and again."""
    entries = []
    for i in range(1000):
        entry = step_stats_pb2.NodeExecStats(node_name=f"a{i}", all_start_micros=i, op_end_rel_micros=5, timeline_label="x" * 900)
        entries.append(entry)
    metadata = config_pb2.RunMetadata()
    stats = metadata.step_stats.dev_stats.add()
    stats.device = "/device:CPU:0"
    stats.node_stats.extend(entries)
    piece = metadata.SerializeToString()
    with open(path, "wb") as file:
        for _ in range(max(megabytes * 2**20 // len(piece), 1)):
            file.write(piece)


# PARDNN_LARGE=1024 makes the files 1 GiB each, as a slow test.
LARGE_MIB = int(os.environ.get("PARDNN_LARGE", "32"))


def kib(what: str) -> int:
    """VmRSS or VmHWM of this process."""
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what))


def test_large_files_are_read_in_little_memory(tmp_path: Path) -> None:
    """E6's kind: the growth of memory stays far below the files' sizes."""
    graph, profile = tmp_path / "graph.pb", tmp_path / "profile.pb"
    write_large_graph(graph, LARGE_MIB)
    write_large_profile(profile, LARGE_MIB)
    assert min(graph.stat().st_size, profile.stat().st_size) > 0.9 * (LARGE_MIB << 20)
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    except OSError:
        pytest.skip("this system does not let a process reset its peak memory")
    before = kib("VmRSS")
    nodes, entries = len(read_graph_def(graph).node), read_profile(profile).entries
    growth = kib("VmHWM") - before
    print(f"{LARGE_MIB} MiB each: {growth} KiB more")
    assert nodes == 1 + 2 * (LARGE_MIB // 8)
    assert entries >= 1000
    assert growth < 24 << 10
