"""Times by hand from published rates, and against a graph whose costs were made the same way."""

from __future__ import annotations

import pathlib

import pytest
from costs_support import aten, f32, i64
from pardnn.costs import How, OpCall, TensorSpec, cost_model
from pardnn.costs.devices import DEVICES, device, table
from pardnn.costs.roofline import Efficiency, RooflineModel
from pardnn.costs.traffic import traffic
from pardnn.graph_file import read_graph

V100 = cost_model("roofline:V100")
N = 1 << 20
BIG = f32(N)  # 4 MiB
HALF = TensorSpec((1024, 1024), "float16", 2)
BRAIN = TensorSpec((1024, 1024), "bfloat16", 2)
SQUARE = f32(1024, 1024)


def product(of: TensorSpec) -> OpCall:
    return aten("mm.default", of, of, out=of)


def test_arithmetic_bound_product():
    cost = V100.cost(product(SQUARE))
    assert cost.flops == 2 * 1024**3
    assert cost.ns == 5000 + int(2 * 1024**3 / (0.6 * 15.7e12) * 1e9)
    assert cost.how is How.MODELLED


def test_memory_bound_addition():
    cost = V100.cost(aten("add.Tensor", BIG, BIG, out=BIG))
    assert (cost.ns, cost.flops) == (5000 + int(3 * 4 * N / (0.75 * 900e9) * 1e9), 0)


@pytest.mark.parametrize("spec, tensor, peak", [
    ("V100", HALF, 125e12), ("V100", BRAIN, 15.7e12), ("A100", SQUARE, 19.5e12), ("A100:tf32", SQUARE, 156e12), ("A100", BRAIN, 312e12),
    ("H100:bf16", SQUARE, 989.5e12), ("H200", TensorSpec((1024, 1024), "float64", 8), 67e12),
    ("H100", TensorSpec((1024, 1024), "float8_e4m3fn", 1), 1979e12)])
def test_type_decides_the_peak(spec, tensor, peak):
    model = cost_model(f"roofline:{spec}:compute=0.001")  # bound by arithmetic
    assert model.cost(product(tensor)).ns == 5000 + int(2 * 1024**3 / (0.001 * peak) * 1e9)


def test_vector_work_is_never_done_by_matrix_units():
    model = RooflineModel(device("H100"), "bf16", Efficiency(compute=1e-6))
    assert model.cost(aten("exp.default", BIG, out=BIG)).ns == 5000 + int(N / (67e12 * 1e-6) * 1e9)


def test_views_take_a_microsecond_and_no_traffic():
    view = OpCall("aten::view.default", (BIG, (4, N // 4)), outputs=(f32(4, N // 4),), is_view=True)
    assert V100.cost(view) == type(V100.cost(view))(1000, 0, 0, How.MODELLED)
    assert V100.cost(aten("empty.memory_format", (N,), out=BIG)).ns == 1000


def test_unknown_operation_is_guessed_from_its_size():
    cost = V100.cost(OpCall("mine::frobnicate.default", (BIG,), outputs=(BIG,)))
    assert (cost.ns, cost.how) == (5000 + int(2 * 4 * N / 675e9 * 1e9), How.GUESSED)


@pytest.mark.parametrize("op, matrix", [("onnx::Conv", True), ("tf::MatMul", True), ("jax::dot_general", True), ("jax::convert_element_type", False)])
def test_passed_flops_count(op, matrix):
    cost = cost_model("roofline:A100:tf32:compute=0.001").cost(OpCall(op, (f32(8),), outputs=(f32(8),), flops=10**9))
    assert (cost.ns, cost.flops, cost.how) == (5000 + int(10**9 / (0.001 * (156e12 if matrix else 19.5e12)) * 1e9), 10**9, How.MODELLED)


ROWS, TABLE, INDEX = f32(32, 64), f32(50000, 64), i64(32)


@pytest.mark.parametrize("call, bytes", [
    (aten("embedding.default", TABLE, INDEX, out=ROWS), 2 * ROWS.unique_bytes + INDEX.unique_bytes),
    (aten("index_select.default", TABLE, 0, INDEX, out=ROWS), 2 * ROWS.unique_bytes + INDEX.unique_bytes),
    (aten("index.Tensor", TABLE, (INDEX,), out=ROWS), 2 * ROWS.unique_bytes + INDEX.unique_bytes),
    (OpCall("onnx::Gather", (TABLE, INDEX), outputs=(ROWS,)), 2 * ROWS.unique_bytes + INDEX.unique_bytes),
    # writes the table, then reads and adds rows
    (aten("embedding_dense_backward.default", ROWS, INDEX, 50000, -1, False, out=TABLE), TABLE.unique_bytes + 2 * (ROWS.unique_bytes + INDEX.unique_bytes)),
    (aten("index_add_.default", TABLE, 0, INDEX, ROWS, out=TABLE), 2 * (ROWS.unique_bytes + INDEX.unique_bytes)),
    (aten("index_add.default", TABLE, 0, INDEX, ROWS, out=TABLE), 2 * TABLE.unique_bytes + 2 * (ROWS.unique_bytes + INDEX.unique_bytes)),
    (aten("mul_.Tensor", BIG, 0.9, out=BIG), 2 * 4 * N),
    (aten("mul_.Tensor", BIG, 0.9), 2 * 4 * N),
    (aten("copy_.default", BIG, BIG, out=BIG), 2 * 4 * N),
    (aten("zero_.default", BIG, out=BIG), 4 * N),
    (aten("zeros_like.default", BIG, out=BIG), 4 * N),
    (aten("_foreach_add_.List", (BIG, BIG), (BIG, BIG)), 6 * 4 * N),
    (aten("_fused_adam_.default", (BIG,), (BIG,), (BIG,), (BIG,), (), (f32(),)), (4 * 4 * N + 4) + (3 * 4 * N + 4)),
    (aten("_softmax.default", BIG, -1, False, out=BIG), 3 * 4 * N),
    (aten("sum.default", f32(N, 8, strides=(1, 0)), out=f32()), 4 * N + 4),  # an expanded input is read once
])
def test_bytes_moved(call, bytes):
    moved = traffic(call)
    assert (moved.bytes, moved.known) == (bytes, True)


def test_workspaces():
    assert V100.cost(aten("embedding_dense_backward.default", ROWS, INDEX, 50000, -1, False, out=TABLE)).temp == 2 * INDEX.unique_bytes
    conv = aten("convolution.default", f32(8, 16, 32, 32), f32(16, 16, 3, 3), None, (1, 1), (1, 1), (1, 1), False, (0, 0), 1, out=f32(8, 16, 32, 32))
    assert V100.cost(conv).temp == 0
    assert cost_model("roofline:V100:workspace=256").cost(conv).temp == 8 * 32 * 32 * 16 * 9 * 4
    assert cost_model("roofline:V100:workspace=1").cost(conv).temp == 1 << 20


def test_same_times_as_the_given_graph():
    """The graph's costs are those of a V100 in float32: 16 sequences of 1024 tokens, 768 wide, 12 heads, 50,257 words."""
    graph = read_graph(pathlib.Path(__file__).parents[2] / "data/pt-gpt2-small-12.h5")
    comp = dict(zip(graph.names, graph.comp.tolist()))
    tokens, scores, words = f32(16 * 1024, 768), f32(192, 1024, 1024), f32(50257, 768)
    hidden = f32(16 * 1024, 3072)
    mine = {
        "lm_head.mm_0": aten("mm.default", tokens, f32(768, 50257), out=f32(16 * 1024, 50257)),
        "h0.mlp.fc1.addmm_0": aten("addmm.default", f32(3072), tokens, f32(768, 3072), out=hidden),
        "h0.attn.bmm_0": aten("bmm.default", f32(192, 1024, 64), f32(192, 64, 1024), out=scores),
        "h0.attn._softmax_0": aten("_softmax.default", scores, -1, False, out=scores),
        "grad/h11.attn._softmax_backward_data_0": aten("_softmax_backward_data.default", scores, scores, -1, 6, out=scores),
        "h0.attn.native_dropout_0": aten("native_dropout.default", scores, 0.1, True, out=(scores, TensorSpec(scores.shape, "bool", 1))),
        "h0.mlp.gelu_0": aten("gelu.default", hidden, out=hidden),
        "grad/h11.mlp.gelu_backward_0": aten("gelu_backward.default", hidden, hidden, out=hidden),
        "h0.ln1.native_layer_norm_0": aten("native_layer_norm.default", tokens, (768,), f32(768), f32(768), 1e-5,
                                           out=(tokens, f32(16 * 1024, 1), f32(16 * 1024, 1))),
        "opt/wte.mul__0": aten("mul_.Tensor", words, 0.9, out=words),
        "opt/wte.addcdiv__0": aten("addcdiv_.default", words, words, words, out=words),
        "grad/embed.embedding_dense_backward_1": aten("embedding_dense_backward.default", f32(16, 1024, 768), i64(16, 1024), 50257, -1, False, out=words),
        "h0.attn.qkv.t_0": OpCall("aten::t.default", (f32(2304, 768),), outputs=(f32(768, 2304),), is_view=True),
        "opt/clip.clamp_0": aten("clamp.default", f32(), None, 1.0, out=f32()),
    }
    for name, call in mine.items():
        assert V100.cost(call).ns == pytest.approx(comp[name], rel=1e-3), name


def test_each_device_names_its_source():
    for d in DEVICES:
        assert "data sheet" in d.source and d.source in table()
    assert device("v100").bandwidth == 900e9 and device("A100").capacity == 80 * 2**30 and device("h200").bandwidth == 4.8e12
