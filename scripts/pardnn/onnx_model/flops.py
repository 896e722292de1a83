"""Floating-point operations of ONNX's products, convolutions, attention and recurrent layers; a multiply and an add are two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from ..capture_common.einsum import einsum_flops
from ..costs import TensorSpec

Formula = Callable[[Mapping[str, Any], Sequence[TensorSpec], Sequence[TensorSpec]], "int | None"]


def flops_of(op: str, attributes: Mapping[str, Any], inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> int | None:
    """FLOPs of one call; None for operations without products (the cost model's part), or with shapes that do not fit.

    ``op``: with its domain before it where that is not ONNX's own. ``inputs`` by position; an input that is left out has no dimensions.
    """
    formula = _FORMULAS.get(op) or _FORMULAS.get(op.rpartition(".")[2])
    try:
        return formula(attributes, inputs, outputs) if formula else None
    except (IndexError, KeyError, TypeError, ValueError, ZeroDivisionError, AttributeError):
        return None  # attributes or shapes that are not the operation's


def _gemm(attributes: Mapping[str, Any], inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> int:
    return 2 * outputs[0].elements * inputs[0].shape[0 if attributes.get("transA", 0) else 1]


def _matmul(_: Mapping[str, Any], inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> int:
    return 2 * outputs[0].elements * inputs[0].shape[-1]


def _conv_at(weight: int) -> Formula:
    """Weights [outputs, channels of a group, taps...]."""
    return lambda _, inputs, outputs: 2 * outputs[0].elements * prod(inputs[weight].shape[1:])


def _conv_transpose(_: Mapping[str, Any], inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> int:
    """Weights [channels, outputs of a group, taps...]: each input element meets all of its channel's."""
    return 2 * inputs[0].elements * prod(inputs[1].shape[1:])


def _einsum(attributes: Mapping[str, Any], inputs: Sequence[TensorSpec], _: Sequence[TensorSpec]) -> int | None:
    return einsum_flops(attributes["equation"].decode(), [t.shape for t in inputs])


def _attention(attributes: Mapping[str, Any], inputs: Sequence[TensorSpec], _: Sequence[TensorSpec]) -> int:
    """Scores and their product with the values, for Q, K, V as [batch, heads, length, size] or [batch, length, heads * size]."""
    q, k, v = (t.shape for t in inputs[:3])
    if len(q) == 4:
        return 2 * q[0] * q[1] * q[2] * k[2] * (q[3] + v[3])
    heads, key_heads = attributes["q_num_heads"], attributes["kv_num_heads"]
    return 2 * q[0] * heads * q[1] * k[1] * (q[2] // heads + v[2] // key_heads)


def _fused_attention(_: Mapping[str, Any], inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> int:
    """com.microsoft.Attention: the projection to queries, keys and values, then attention over the whole width."""
    batch, length, width = inputs[0].shape
    total = inputs[1].shape[1]
    return 2 * batch * length * width * total + 4 * batch * length * length * outputs[0].shape[-1]


def _multi_head(_: Mapping[str, Any], inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> int:
    """com.microsoft.MultiHeadAttention with [batch, length, width] inputs."""
    batch, length, width = inputs[0].shape
    return 2 * batch * length * inputs[1].shape[1] * (width + outputs[0].shape[-1])


def _recurrent(_: Mapping[str, Any], inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> int:
    """X [length, batch, inputs], W [directions, gates * hidden, inputs], R [directions, gates * hidden, hidden]."""
    length, batch, _width = inputs[0].shape
    return 2 * length * batch * (inputs[1].elements + inputs[2].elements)


_FORMULAS: dict[str, Formula] = {
    "Gemm": _gemm, "FusedGemm": _gemm, "MatMul": _matmul, "MatMulInteger": _matmul, "FusedMatMul": _matmul, "QLinearMatMul": _matmul,
    "Conv": _conv_at(1), "FusedConv": _conv_at(1), "ConvInteger": _conv_at(1), "QLinearConv": _conv_at(3), "ConvTranspose": _conv_transpose,
    "Einsum": _einsum, "Attention": _attention, "com.microsoft.Attention": _fused_attention, "MultiHeadAttention": _multi_head,
    "LSTM": _recurrent, "GRU": _recurrent, "RNN": _recurrent}
