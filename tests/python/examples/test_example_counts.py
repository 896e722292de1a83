"""Captured examples against counts by hand: parameters, buffers and optimizer state to the last byte, FLOPs of products to the last operation.

Exact, where 1 % is asked for: ``counts`` says what counts, and both sides count the same. They share no code: the hand counts are formulas of
sizes, the graph's come from its nodes and from the shapes in its program. The full sizes are captured by ``capture_all.py``; here the full widths
with fewer repetitions, since all repetitions are alike.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pardnn.costs import cost_model  # noqa: E402
from pardnn.graph import Kind  # noqa: E402
from pardnn.graph_file import read_graph  # noqa: E402
from pardnn.torch_step.capture import Capture, capture_step  # noqa: E402
from pardnn.torch_step.conversion import convertible  # noqa: E402
from pardnn.torch_step.program import load_program  # noqa: E402
from torch._subclasses import FakeTensorMode  # noqa: E402

Example = Callable[[str], ModuleType]
FEWER: dict[str, dict[str, Any]] = {
    "word_rnn": dict(length=2), "char_crn": dict(length=2), "wide_resnet": dict(units=2), "transformer": dict(layers=1), "e3d_lstm": dict(given=2, predicted=2),
    "gpt2": dict(layers=2), "llama": dict(layers=2), "moe": dict(layers=2), "dlrm": {}}
"""The default sizes but for these."""


def captured(example: Example, name: str, sizes: dict[str, Any], micro_batches: int = 1) -> Capture:
    with convertible(), FakeTensorMode(allow_non_fake_inputs=True):
        step = example(name).step(**sizes)
    return capture_step(step, cost_model("roofline:V100"), micro_batches=micro_batches)


def compare(example: Example, name: str, sizes: dict[str, Any], path: Path, micro_batches: int = 1) -> None:
    counts = example("counts")
    expected = counts.FAMILIES[name](**counts.sizes_of(example(name).step, **sizes))
    measured = example("graph_counts").graph_counts(path)
    assert measured.residual_bytes == expected.residual_bytes
    assert measured.residuals == expected.residuals
    assert measured.changed == expected.residuals - expected.constant
    assert measured.gradients == expected.weights
    assert measured.flops == expected.flops
    assert measured.products == expected.products * micro_batches


def test_all_families_have_counts(example: Example) -> None:
    assert set(example("counts").FAMILIES) == set(FEWER)


@pytest.mark.parametrize("name", FEWER)
def test_small_size(example: Example, small_graph: Callable[[str, int], Path], name: str) -> None:
    compare(example, name, example(name).SMALL, small_graph(name, 1))


@pytest.mark.parametrize("name", ["word_rnn", "wide_resnet", "gpt2"])
def test_micro_batches_cost_the_same(example: Example, small_graph: Callable[[str, int], Path], name: str) -> None:
    """Two halves of a batch have the products of the whole."""
    compare(example, name, example(name).SMALL, small_graph(name, 2), micro_batches=2)
    assert read_graph(small_graph(name, 2)).samples_per_step == example(name).SMALL["batch"]


def test_experts_have_places_for_one_micro_batch(example: Example, tmp_path: Path) -> None:
    sizes = {**example("moe").SMALL, "micro_batches": 2, "batch": 2}
    captured(example, "moe", sizes, micro_batches=2).write(tmp_path / "g.h5")
    compare(example, "moe", sizes, tmp_path / "g.h5", micro_batches=2)


@pytest.mark.parametrize("name", FEWER)
def test_full_width(example: Example, name: str, tmp_path: Path) -> None:
    captured(example, name, FEWER[name]).write(tmp_path / "g.h5")
    compare(example, name, FEWER[name], tmp_path / "g.h5")


def test_gpt2_xl_and_llama_have_the_published_numbers_of_parameters(example: Example) -> None:
    counts = example("counts")
    number = lambda name, **sizes: counts.FAMILIES[name](**counts.sizes_of(example(name).step, **sizes)).parameters  # noqa: E731
    assert number("gpt2") == 1_557_611_200
    assert number("gpt2", layers=12, width=768, heads=12) == 124_439_808
    assert number("llama") == 70_553_706_496
    assert number("llama", layers=32, width=4096, heads=32, groups=8, inner=14336) == 8_030_261_248
    assert round(number("wide_resnet") / 1e9, 2) == 1.91  # Table 3 of the paper


def test_tied_weights_are_one_residual(small_graph: Callable[[str, int], Path]) -> None:
    _, program = load_program(small_graph("gpt2", 1))
    names = {b.name: b.ref.node for b in program.bindings if b.role == "parameter"}
    assert names["wte.weight"] == names["lm_head.weight"]


def test_batch_norm_shares_the_device_of_its_statistics(small_graph: Callable[[str, int], Path]) -> None:
    graph = read_graph(small_graph("wide_resnet", 1))
    norms = [n for n in range(graph.num_nodes) if "batch_norm" in graph.op_name(n) and "backward" not in graph.op_name(n)]
    assert len(norms) == 2 * 6 + 1
    for n in norms:
        tied = np.flatnonzero((graph.colocation == graph.colocation[n]) & (graph.kind == Kind.RESIDUAL))
        assert {graph.names[t].rsplit(".", 1)[1] for t in tied} >= {"running_mean", "running_var"}
