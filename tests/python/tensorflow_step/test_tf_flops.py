"""FLOPs of products and convolutions, counted by hand, on real graphs."""

from __future__ import annotations

import os
from typing import Any

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
tf = pytest.importorskip("tensorflow")

from pardnn.capture_common import Costing  # noqa: E402
from pardnn.capture_common.einsum import einsum_flops  # noqa: E402
from pardnn.capture_tensorflow import function_with_report  # noqa: E402
from pardnn.costs import cost_model  # noqa: E402


def flops(function: Any, *shapes: list[int]) -> int:
    costing = Costing(cost_model("roofline:V100"))
    function_with_report(tf.function(function), [tf.TensorSpec(s) for s in shapes], costing=costing)
    return costing.coverage.flops


def with_gradients(function: Any) -> Any:
    def both(*args: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(args)
            out = function(*args)
        return out, tape.gradient(out, args)
    return both


def test_matmul_with_transposes() -> None:
    assert flops(lambda a, b: tf.matmul(a, b, transpose_a=True), [7, 3], [7, 5]) == 2 * 3 * 7 * 5
    assert flops(lambda a, b: tf.matmul(a, b, transpose_b=True), [3, 7], [5, 7]) == 2 * 3 * 7 * 5


def test_batched_matmul_and_its_gradients() -> None:
    assert flops(with_gradients(tf.matmul), [4, 3, 7], [4, 7, 5]) == 3 * 2 * 4 * 3 * 7 * 5


def test_convolution_with_stride_and_its_gradients() -> None:
    conv = with_gradients(lambda x, w: tf.nn.conv2d(x, w, 2, "SAME"))
    assert flops(conv, [2, 8, 8, 3], [3, 3, 3, 16]) == 3 * 2 * (2 * 4 * 4 * 16) * (3 * 3 * 3)


def test_grouped_convolution() -> None:
    assert flops(lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), [2, 8, 8, 6], [3, 3, 3, 16]) == 2 * (2 * 8 * 8 * 16) * (3 * 3 * 3)


def test_depthwise_convolution_and_its_gradients() -> None:
    conv = with_gradients(lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME"))
    assert flops(conv, [2, 8, 8, 6], [3, 3, 6, 2]) == 3 * 2 * (2 * 8 * 8 * 12) * 9


def test_convolution_in_three_dimensions_and_its_gradients() -> None:
    conv = with_gradients(lambda x, w: tf.nn.conv3d(x, w, [1] * 5, "VALID"))
    assert flops(conv, [2, 4, 8, 8, 3], [3, 3, 3, 3, 5]) == 3 * 2 * (2 * 2 * 6 * 6 * 5) * (27 * 3)


@pytest.mark.parametrize(("equation", "shapes", "expected"), [
    ("ij,jk->ik", [(2, 3), (3, 5)], 2 * 30), ("bhqd,bhkd->bhqk", [(2, 4, 8, 16), (2, 4, 9, 16)], 2 * 2 * 4 * 8 * 9 * 16),
    ("...ij,...jk->...ik", [(7, 2, 3), (3, 5)], 2 * 7 * 30), ("ij->ji", [(2, 3)], 6), ("ij,jk->ik", [(2, 3)], None), ("ij->i", [(2, 3, 4)], None)])
def test_einsum(equation: str, shapes: list[tuple[int, ...]], expected: int | None) -> None:
    assert einsum_flops(equation, shapes) == expected
