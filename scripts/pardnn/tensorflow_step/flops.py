"""Floating-point operations of TensorFlow's matrix products and convolutions; a multiply and an add are two."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..capture_common.einsum import einsum_flops
from ..costs import TensorSpec

def flops_of(op: str, attributes: Any, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> int | None:
    """FLOPs of a matrix product, a convolution or a gradient of one, by its NodeDef's attributes; None for all else (the cost model's part)."""
    formula = _FORMULAS.get(op)
    return formula(attributes, inputs, outputs) if formula else None


def _flag(attributes: Any, *names: str) -> bool:
    return any(name in attributes and attributes[name].b for name in names)


def _matmul(attributes: Any, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> int | None:
    a = inputs[0].shape
    if len(a) < 2:
        return None
    inner = a[-2] if _flag(attributes, "transpose_a", "adj_x") else a[-1]
    return 2 * outputs[0].elements * inner


def _einsum(attributes: Any, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> int | None:
    return einsum_flops(attributes["equation"].s.decode(), [t.shape for t in inputs])


def _conv(out: int | str, kernel: int | str, per_group: bool) -> Any:
    """FLOPs of a convolution or a gradient of one: ``out`` and ``kernel`` are input positions, or "out" for the result."""
    def formula(_: Any, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> int:
        of = lambda where: outputs[0] if isinstance(where, str) else inputs[where]  # noqa: E731
        taps = of(kernel).shape[:-1] if per_group else of(kernel).shape[:-2]
        return 2 * of(out).elements * prod(taps)
    return formula


_FORMULAS: dict[str, Any] = {
    "MatMul": _matmul, "BatchMatMul": _matmul, "BatchMatMulV2": _matmul, "BatchMatMulV3": _matmul, "Einsum": _einsum,
    # The filter is [taps..., channels of a group, outputs]; a depthwise one [taps..., channels, multiplier].
    "Conv2D": _conv("out", 1, True), "Conv2DBackpropInput": _conv(2, 1, True), "Conv2DBackpropFilter": _conv(2, "out", True),
    "Conv3D": _conv("out", 1, True), "Conv3DBackpropInputV2": _conv(2, 1, True), "Conv3DBackpropFilterV2": _conv(2, "out", True),
    "DepthwiseConv2dNative": _conv("out", 1, False), "DepthwiseConv2dNativeBackpropInput": _conv(2, 1, False),
    "DepthwiseConv2dNativeBackpropFilter": _conv(2, "out", False)}
