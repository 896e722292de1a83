"""ONNX models: sizes, names, order, loops, views, costs, and what is refused."""

from __future__ import annotations

import copy
import random
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper  # noqa: E402

import pardnn  # noqa: E402
from pardnn import Graph, Kind, write_graph  # noqa: E402
from pardnn.capture_common import CaptureError, Costing  # noqa: E402
from pardnn.capture_onnx import capture, main  # noqa: E402
from pardnn.costs import cost_model  # noqa: E402
from pardnn.graph_file import read_extra  # noqa: E402
from pardnn.onnx_model.convert import Options, convert  # noqa: E402
from pardnn.onnx_model.model_file import prepared, read_model  # noqa: E402


def value(name: str, *shape: int | str, kind: int = TensorProto.FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, list(shape))


def weight(name: str, *shape: int) -> Any:
    return helper.make_tensor(name, TensorProto.FLOAT, shape, np.zeros(shape, np.float32).tobytes(), raw=True)


def integers(name: str, values: list[int]) -> Any:
    return helper.make_tensor(name, TensorProto.INT64, [len(values)], values)


def model_of(nodes: list[Any], inputs: list[Any], outputs: list[Any], initializers: list[Any] = [], **more: Any) -> Any:  # noqa: B006
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("mine", 1)]
    return helper.make_model(graph, opset_imports=opsets, **more)


def flops(model: Any, **dims: int) -> int:
    costing = Costing(cost_model("roofline:V100"))
    convert(prepared(copy.deepcopy(model), dims), costing, Options())
    return costing.coverage.flops


def edges(graph: Graph) -> dict[tuple[str, str], int]:
    return {(graph.names[s], graph.names[t]): b for s, t, b in zip(graph.source.tolist(), graph.target.tolist(), graph.bytes.tolist())}


def small_net() -> Any:
    """Conv, Relu, Flatten, Gemm, each with a name."""
    return model_of(
        [helper.make_node("Conv", ["x", "k"], ["c"], "conv", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"], "relu"),
         helper.make_node("Flatten", ["r"], ["f"], "flat"), helper.make_node("Gemm", ["f", "w", "b"], ["y"], "gemm")],
        [value("x", "batch", 3, 8, 8)], [value("y", "batch", 10)], [weight("k", 4, 3, 3, 3), weight("w", 256, 10), weight("b", 10)])


class TestSizes:
    graph = property(lambda self: capture(small_net(), dims={"batch": 2}))

    def test_weights_are_residuals(self) -> None:
        held = {n: int(m) for n, m, k in zip(self.graph.names, self.graph.mem, self.graph.kind) if k == Kind.RESIDUAL}
        assert held == {"k": 4 * 27 * 4, "w": 2560 * 4, "b": 40}

    def test_edges_carry_tensors(self) -> None:
        assert edges(self.graph) == {("x", "conv"): 2 * 192 * 4, ("k", "conv"): 432, ("conv", "relu"): 2048, ("relu", "flat"): 2048,
                                     ("flat", "gemm"): 2048, ("w", "gemm"): 10240, ("b", "gemm"): 40}

    def test_a_flatten_is_a_view(self) -> None:
        flat = self.graph.names.index("flat")
        assert self.graph.names[int(self.graph.alias[flat])] == "relu" and self.graph.mem[flat] == 0

    def test_the_partitioner_takes_it(self, pardnn_binary: str, tmp_path: Path) -> None:
        write_graph(tmp_path / "g.h5", self.graph)
        subprocess.run([pardnn_binary, "validate", str(tmp_path / "g.h5")], check=True, capture_output=True)
        subprocess.run([pardnn_binary, "partition", str(tmp_path / "g.h5"), "--devices", "2", "--memory", "1GiB", "--preset", "fast",
                        "-o", str(tmp_path / "p.tsv")], check=True, capture_output=True)


def varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def model_bytes() -> bytes:
    model = TestBodies.loop([7])
    return bytes(model.SerializeToString())


class TestNames:
    """E9."""

    def test_unnamed_and_repeated_names_become_unique_with_a_table(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Exp", ["b"], ["c"], "same"),
                 helper.make_node("Log", ["c"], ["d"], "same"), helper.make_node("Neg", ["d"], ["y"], "last")]
        onnx.save(model_of(nodes, [value("x", 4)], [value("y", 4)]), tmp_path / "m.onnx")
        assert main([str(tmp_path / "m.onnx"), "-o", str(tmp_path / "g.h5"), "--mapping", str(tmp_path / "m.tsv")]) == 0
        graph = pardnn.read_graph(tmp_path / "g.h5")
        assert graph.names == ["x", "Relu_0", "Relu_1", "same", "same#2", "last"]
        table = [line.split("\t") for line in (tmp_path / "m.tsv").read_text().splitlines()]
        assert table[0] == ["node", "place", "operation", "name"]
        assert table[4:6] == [["same", "node 2", "Exp", "same"], ["same#2", "node 3", "Log", "same"]]
        assert read_extra(tmp_path / "g.h5", "onnx_nodes") == (tmp_path / "m.tsv").read_bytes()
        assert "2 nodes without a name" in capsys.readouterr().out

    def test_a_tensor_that_two_nodes_write_is_refused(self) -> None:
        nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Exp", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["y"])]
        with pytest.raises(CaptureError, match=r"tensor 'a' is written by node 0 \(Relu\) and by node 1 \(Exp\)"):
            capture(model_of(nodes, [value("x", 4)], [value("y", 4)]))

    def test_a_tensor_that_nothing_writes_is_refused(self) -> None:
        with pytest.raises(CaptureError, match="node 'add' reads tensor 'ghost', which nothing writes"):
            capture(model_of([helper.make_node("Add", ["x", "ghost"], ["y"], "add")], [value("x", 4)], [value("y", 4)]), unknown_dim=1)


def test_the_order_of_nodes_does_not_matter() -> None:
    """E10."""
    model, turned = small_net(), small_net()
    nodes = list(turned.graph.node)[::-1]
    del turned.graph.node[:]
    turned.graph.node.extend(nodes)
    graph, other = capture(model, dims={"batch": 2}), capture(turned, dims={"batch": 2})
    assert edges(graph) == edges(other)
    assert dict(zip(graph.names, graph.comp.tolist())) == dict(zip(other.names, other.comp.tolist()))


def test_a_cycle_is_printed() -> None:
    nodes = [helper.make_node("Relu", ["b"], ["a"], "one"), helper.make_node("Relu", ["a"], ["b"], "two")]
    model = model_of(nodes, [value("x", 4)], [value("b", 4)])
    model.graph.value_info.extend([value("a", 4)])
    with pytest.raises(CaptureError, match="cycle: .*one.*two"):
        capture(model)


class TestBodies:
    """E11: a body's outer values are edges into its node."""

    @staticmethod
    def loop(trips: list[int] | None = None) -> Any:
        body = helper.make_graph([helper.make_node("MatMul", ["h", "w"], ["h2"], "product"), helper.make_node("Identity", ["go"], ["go2"])], "body",
                                 [value("i", kind=TensorProto.INT64), value("go", kind=TensorProto.BOOL), value("h", 8, 16)],
                                 [value("go2", kind=TensorProto.BOOL), value("h2", 8, 16)])
        nodes = [helper.make_node("Relu", ["v"], ["w"], "weights"), helper.make_node("Loop", ["trips", "", "x"], ["y"], "loop", body=body)]
        inputs = [value("x", 8, 16), value("v", 16, 16)] + ([] if trips else [value("trips", kind=TensorProto.INT64)])
        held = [helper.make_tensor("trips", TensorProto.INT64, [], trips)] if trips else []
        return model_of(nodes, inputs, [value("y", 8, 16)], held)

    def test_an_outer_value_is_an_edge_into_the_loop(self) -> None:
        assert edges(capture(self.loop([7])))[("weights", "loop")] == 16 * 16 * 4

    def test_a_constant_trip_count_multiplies_the_work(self) -> None:
        assert flops(self.loop([7])) == 7 * 2 * 8 * 16 * 16

    def test_an_unknown_trip_count_is_told(self) -> None:
        costing = Costing(cost_model("roofline:V100"))
        result = convert(prepared(self.loop(), {}), costing, Options(iterations=3))
        assert costing.coverage.flops == 3 * 2 * 8 * 16 * 16
        assert result.report.of("loops whose trip count is no constant, taken as 3") == 1

    def test_a_choice_takes_its_dearest_branch(self) -> None:
        branches = [helper.make_graph([helper.make_node("MatMul", ["x", w], [f"out_{w}"])], w, [], [value(f"out_{w}", 8, n)]) for w, n in (("a", 4), ("b", 32))]
        node = helper.make_node("If", ["c"], ["y"], "if", then_branch=branches[0], else_branch=branches[1])
        model = model_of([node], [value("c", kind=TensorProto.BOOL), value("x", 8, 16)], [value("y", 8, "n")], [weight("a", 16, 4), weight("b", 16, 32)])
        assert flops(model, n=32) == 2 * 8 * 16 * 32
        assert {("a", "if"), ("b", "if"), ("x", "if")} <= set(edges(capture(model, dims={"n": 32})))

    def test_a_scan_runs_along_its_input(self) -> None:
        body = helper.make_graph([helper.make_node("MatMul", ["h", "w"], ["m"]), helper.make_node("Add", ["m", "s"], ["h2"]),
                                  helper.make_node("Identity", ["h2"], ["o"])], "body", [value("h", 4, 4), value("s", 4, 4)],
                                 [value("h2", 4, 4), value("o", 4, 4)])
        node = helper.make_node("Scan", ["h0", "xs"], ["h9", "ys"], "scan", body=body, num_scan_inputs=1)
        model = model_of([node], [value("h0", 4, 4), value("xs", 5, 4, 4)], [value("h9", 4, 4), value("ys", 5, 4, 4)], [weight("w", 4, 4)])
        assert flops(model) == 5 * 2 * 4 * 4 * 4


class TestShapes:
    """E16."""

    def test_the_symbol_is_named(self) -> None:
        with pytest.raises(CaptureError, match=r"tensor 'x' has shape \[batch, 3, 8, 8\]: expected --dim batch=SIZE"):
            capture(small_net())

    def test_a_dimension_without_a_name_has_its_place(self) -> None:
        model = model_of([helper.make_node("Relu", ["x"], ["y"])], [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 3])],
                         [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 3])])
        with pytest.raises(CaptureError, match=r"--dim x\[0\]=SIZE"):
            capture(model)
        assert capture(model, dims={"x[0]": 5}).mem.tolist() == [60, 60]

    def test_a_name_that_is_nowhere_is_refused(self) -> None:
        with pytest.raises(CaptureError, match="--dim bacth: no input"):
            capture(small_net(), dims={"bacth": 4})

    def test_shapes_that_are_computed_are_followed(self) -> None:
        """As exporters write them: the batch is cut out of a shape, goes through arithmetic, and comes back in a Reshape."""
        nodes = [helper.make_node("Shape", ["x"], ["s"], "shape"), helper.make_node("Slice", ["s", "zero", "one"], ["b"], "cut"),
                 helper.make_node("Mul", ["b", "two"], ["b2"], "twice"), helper.make_node("Concat", ["b2", "three"], ["to"], "join", axis=0),
                 helper.make_node("Reshape", ["x", "to"], ["r"], "reshape"), helper.make_node("Relu", ["r"], ["y"], "relu")]
        held = [integers("zero", [0]), integers("one", [1]), integers("two", [2]), integers("three", [3])]
        unknown = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 3])
        graph = capture(model_of(nodes, [value("x", "batch", 6)], [unknown], held), dims={"batch": 4})
        assert graph.mem[graph.names.index("relu")] == 8 * 3 * 4
        assert graph.names[int(graph.alias[graph.names.index("reshape")])] == "x"
        assert {"shape", "cut", "twice", "join"} <= set(graph.names)

    def test_a_shape_that_is_too_large_is_not_evaluated(self) -> None:
        nodes = [helper.make_node("ConstantOfShape", ["huge"], ["z"], "fill"), helper.make_node("Relu", ["z"], ["y"], "relu")]
        unknown = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, None])
        graph = capture(model_of(nodes, [], [unknown], [integers("huge", [2**20, 2**20])]), unknown_dim=1)
        assert graph.mem[graph.names.index("fill")] == 4 * 2**40

    def test_an_unknown_operation_needs_a_size_and_is_told(self) -> None:
        model = model_of([helper.make_node("Magic", ["x"], ["a"], "magic", domain="mine"), helper.make_node("Relu", ["a"], ["y"], "relu")],
                         [value("x", 4)], [value("y", 4)])
        with pytest.raises(CaptureError, match="tensor 'a' has unknown rank"):
            capture(model)
        costing = Costing(cost_model("roofline:V100"))
        result = convert(prepared(model, {}), costing, Options(unknown_dim=1))
        assert result.report.of("tensors of unknown rank, taken as one element") == 1
        assert "mine.Magic" in result.graph.op_types


class TestFiles:
    def test_external_data_need_not_be_there(self, tmp_path: Path) -> None:
        """E7."""
        model = small_net()
        onnx.save_model(model, tmp_path / "m.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
        (tmp_path / "weights.bin").unlink()
        assert capture(tmp_path / "m.onnx", dims={"batch": 2}).residual_bytes() == 432 + 10240 + 40

    def test_weights_in_the_file_are_skipped(self, tmp_path: Path) -> None:
        model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"], "m")], [value("x", 2, 1024)], [value("y", 2, 4096)], [weight("w", 1024, 4096)])
        onnx.save(model, tmp_path / "m.onnx")
        slim = read_model(tmp_path / "m.onnx")
        assert (tmp_path / "m.onnx").stat().st_size > 16 << 20 and slim.ByteSize() < 1000
        assert list(slim.graph.initializer[0].dims) == [1024, 4096]
        assert capture(tmp_path / "m.onnx").residual_bytes() == 16 << 20

    def test_a_file_may_exceed_what_protobuf_can_parse(self, tmp_path: Path) -> None:
        """E7's kind: 3 GiB of weights in the file itself (a hole, on a file system that has them)."""
        size = 3 << 30
        model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"], "m")], [value("x", 2, size >> 12)], [value("y", 2, 1024)])
        rest = model.SerializeToString()
        tensor = helper.make_tensor("w", TensorProto.FLOAT, (0,), []).SerializeToString().replace(b"\x08\x00", b"")
        dims = b"\x08" + varint(size >> 12) + b"\x08" + varint(1024)
        head = tensor + dims + b"\x4a" + varint(size)  # TensorProto.raw_data
        graph = b"\x2a" + varint(len(head) + size) + head  # GraphProto.initializer
        with open(tmp_path / "m.onnx", "wb") as file:
            file.write(rest + b"\x3a" + varint(len(graph) + size) + graph)  # ModelProto.graph, which is merged with the first
            file.truncate(file.tell() + size)
        assert capture(tmp_path / "m.onnx").residual_bytes() == size

    @pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"plain text, not a model\n" * 4])
    def test_what_is_no_model_is_one_line_and_exit_3(self, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "m.onnx").write_bytes(content)
        assert main([str(tmp_path / "m.onnx"), "-o", str(tmp_path / "g.h5")]) == 3
        error = capsys.readouterr().err
        assert error.startswith("pardnn.capture_onnx: ") and error.count("\n") == 1
        assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx"]

    def test_what_is_broken_is_one_line(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Bytes changed, dropped and put in at random: a graph or one line and exit code 3, never anything else."""
        whole = model_bytes()
        for seed in range(200):
            draw, broken = random.Random(seed), bytearray(whole)
            for _ in range(draw.choice([1, 1, 3, 10])):
                at = draw.randrange(len(broken))
                broken[at:at + draw.randrange(2)] = bytes(draw.randrange(256) for _ in range(draw.randrange(3)))
            (tmp_path / "m.onnx").write_bytes(broken)
            code = main([str(tmp_path / "m.onnx"), "-o", str(tmp_path / "g.h5")])
            error = capsys.readouterr().err
            assert (code, error.count("\n")) in ((0, 0), (3, 1)), f"seed {seed}: {error}"

    def test_functions_are_inlined(self) -> None:
        twice = helper.make_function("mine", "Twice", ["a"], ["c"], [helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Relu", ["b"], ["c"])],
                                     [helper.make_opsetid("", 17)])
        model = model_of([helper.make_node("Twice", ["x"], ["y"], "t", domain="mine")], [value("x", 4)], [value("y", 4)], functions=[twice])
        graph = capture(model)
        assert [graph.op_name(n) for n in range(graph.num_nodes)] == ["Input", "Relu", "Relu"]


def test_what_no_output_needs_is_dropped_and_counted() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"], "kept"), helper.make_node("Exp", ["x"], ["z"], "dead")]
    model = model_of(nodes, [value("x", 4)], [value("y", 4)], [weight("unused", 8)])
    result = convert(prepared(model, {}), Costing(cost_model("roofline:V100")), Options())
    assert result.graph.names == ["x", "kept"]
    assert result.report.of("nodes dropped that no output needs") == 1
    assert result.report.of("initializers dropped that no node reads") == 1


def test_outputs_are_told_apart() -> None:
    nodes = [helper.make_node("Split", ["x", "parts"], ["a", "b"], "split", axis=0), helper.make_node("Relu", ["a"], ["c"], "ra"),
             helper.make_node("Exp", ["b"], ["d"], "rb")]
    graph = capture(model_of(nodes, [value("x", 6)], [value("c", 2), value("d", 4)], [integers("parts", [2, 4])]))
    split = graph.names.index("split")
    out = {(graph.names[t], o, b) for s, t, o, b in zip(graph.source, graph.target, graph.output, graph.bytes) if s == split}
    assert out == {("ra", 0, 8), ("rb", 1, 16)} and graph.mem[split] == 24


@pytest.mark.parametrize(("op", "shapes", "out", "attributes", "expected"), [
    ("Gemm", [(7, 3), (7, 5)], (3, 5), {"transA": 1}, 2 * 3 * 5 * 7),
    ("MatMul", [(4, 3, 7), (7, 5)], (4, 3, 5), {}, 2 * 4 * 3 * 5 * 7),
    ("Conv", [(2, 6, 8, 8), (16, 3, 3, 3)], (2, 16, 8, 8), {"group": 2, "pads": [1, 1, 1, 1]}, 2 * 2 * 16 * 64 * 27),
    ("ConvTranspose", [(2, 6, 8, 8), (6, 4, 3, 3)], (2, 4, 10, 10), {}, 2 * 2 * 6 * 64 * 4 * 9),
    ("Einsum", [(2, 3), (3, 5)], (2, 5), {"equation": "ij,jk->ik"}, 60),
    ("LSTM", [(5, 2, 3), (1, 16, 3), (1, 16, 4)], (5, 1, 2, 4), {"hidden_size": 4}, 2 * 5 * 2 * 16 * (3 + 4))])
def test_flops_by_hand(op: str, shapes: list[tuple[int, ...]], out: tuple[int, ...], attributes: dict[str, Any], expected: int) -> None:
    names = [f"i{k}" for k in range(len(shapes))]
    node = helper.make_node(op, names, ["y"], "n", **attributes)
    assert flops(model_of([node], [value(n, *s) for n, s in zip(names, shapes)], [value("y", *out)])) == expected


def test_attention_by_hand() -> None:
    node = helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["y"], "n", domain="com.microsoft", num_heads=4)
    model = model_of([node], [value("q", 2, 8, 32), value("k", 2, 16, 32), value("v", 2, 16, 32)], [value("y", 2, 8, 32)])
    assert flops(model) == 2 * 2 * 8 * 16 * (32 + 32)
