"""Floating-point operations of matrix products, convolutions, attention and recurrent layers, exactly; a multiply and an add are two.

These are what ``torch.utils.flop_counter`` counts, and the same numbers, but where it errs: the weight gradient of a grouped convolution (it
counts all groups' channels with each other), and the low-level attention operations whose dimensions are batch, sequence, head.
As there, causal attention counts in full, and bias, scale and elementwise work not at all. Only shapes are looked at; torch isn't needed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import zip_longest
from math import prod
from typing import Any

from .call import OpCall, TensorSpec
from .op_names import op_name

Shape = tuple[int, ...]


def argument(call: OpCall, index: int, name: str, default: Any = None) -> Any:
    """Argument ``index``, or the keyword ``name``, or ``default``."""
    return call.args[index] if index < len(call.args) else call.kwargs.get(name, default)


def _shape(call: OpCall, index: int, name: str) -> Shape:
    value = argument(call, index, name)
    if not isinstance(value, TensorSpec):
        raise ValueError(f"{call.op}: argument {index} ('{name}'): expected a tensor")
    return value.shape


def _product(left: int, right: int, names: tuple[str, str]) -> Callable[[OpCall], int]:
    """a[..., m, k] times b[..., k, n], or vectors in their place; batch dimensions broadcast."""

    def count(call: OpCall) -> int:
        a, b = _shape(call, left, names[0]), _shape(call, right, names[1])
        rows = a[-2] if len(a) > 1 else 1
        columns = b[-1] if len(b) > 1 else 1
        batch = prod(max(pair) if min(pair) else 0 for pair in zip_longest(reversed(a[:-2]), reversed(b[:-2]), fillvalue=1))
        return 2 * batch * rows * a[-1] * columns

    return count


def _linear(call: OpCall) -> int:
    weight = _shape(call, 1, "weight")
    return 2 * prod(_shape(call, 0, "input")[:-1]) * prod(weight)


def _grouped_mm(call: OpCall) -> int:
    """[M, K] x [G, K, N] and [M, K] x [K, N]: rows (or K) are shared out among groups; [G, M, K] x [G, K, N]: a batch."""
    a, b = _shape(call, 0, "self"), _shape(call, 1, "mat2")
    return 2 * prod(a) * b[-1]


def _outer(call: OpCall) -> int:
    return 2 * call.outputs[0].elements if call.outputs else 0


def _convolution(call: OpCall, transposed: bool) -> int:
    """Each output element (each input element, if transposed) meets ``weight[1:]`` once: channels of its group times the window."""
    meets = _shape(call, 0, "input") if transposed else call.outputs[0].shape
    return 2 * prod(meets) * prod(_shape(call, 1, "weight")[1:])


def _one_gradient(call: OpCall) -> int:
    """The gradient of a convolution's input, or that of its weight: each costs what the convolution did."""
    transposed = bool(argument(call, 7, "transposed", False))
    meets = _shape(call, 1, "input") if transposed else _shape(call, 0, "grad_output")
    return 2 * prod(meets) * prod(_shape(call, 2, "weight")[1:])


def _convolution_backward(call: OpCall) -> int:
    mask = argument(call, 10, "output_mask", (True, True, True))
    return _one_gradient(call) * (bool(mask[0]) + bool(mask[1]))


def unfolded_elements(call: OpCall) -> int:
    """Elements of the matrix that a convolution's windows unfold into (im2col), one group at a time.

    0 for windows of one element, which need none, and for everything else that is no convolution.
    """
    name = op_name(call.op)
    if name.namespace != "aten" or name.base not in _CONVOLUTIONS:
        return 0
    backward = name.base.startswith("convolution_backward")
    weight = _shape(call, 2 if backward else 1, "weight")
    product = _one_gradient(call) if backward else _FORMULAS[name.base](call)
    return product // (2 * weight[0]) if weight[0] and prod(weight[2:]) > 1 else 0


def _attention(query: Shape, key: Shape, value: Shape) -> int:
    """[..., heads, s, d]: scores, then scores times values. Fewer heads of keys than of queries are shared, and cost the same."""
    return 2 * prod(query[:-1]) * key[-2] * (query[-1] + value[-1])


def _attention_backward(query: Shape, key: Shape, value: Shape) -> int:
    """Scores anew, gradients of scores, values, queries and keys: five products."""
    return 2 * prod(query[:-1]) * key[-2] * (3 * query[-1] + 2 * value[-1])


def _qkv(call: OpCall, first: int, sequence_first: bool = False) -> tuple[Shape, Shape, Shape]:
    q, k, v = (_shape(call, first + i, name) for i, name in enumerate(("query", "key", "value")))
    if sequence_first:  # batch, sequence, head, d
        q, k, v = ((*s[:-3], s[-2], s[-3], s[-1]) for s in (q, k, v))
    return q, k, v


def _rnn_layer(weights: slice, times: int = 1) -> Callable[[OpCall], int]:
    """Every step of every sequence meets each weight matrix ``times`` times; ``weights``: where they are among the arguments."""

    def count(call: OpCall) -> int:
        matrices = OpCall(call.op, call.args[weights]).inputs()
        return 2 * times * prod(_shape(call, 0, "input")[:-1]) * sum(prod(m.shape) for m in matrices if len(m.shape) == 2)

    return count


def _table() -> dict[str, Callable[[OpCall], int]]:
    table: dict[str, Callable[[OpCall], int]] = {
        "linear": _linear, "_grouped_mm": _grouped_mm, "addr": _outer, "outer": _outer, "ger": _outer,
        "convolution_backward": _convolution_backward, "convolution_backward_overrideable": _convolution_backward,
        "mkldnn_rnn_layer": _rnn_layer(slice(1, 3)), "_cudnn_rnn": _rnn_layer(slice(1, 2)),
        "mkldnn_rnn_layer_backward": _rnn_layer(slice(1, 3), 2), "_cudnn_rnn_backward": _rnn_layer(slice(1, 2), 2),
        "_flash_attention_forward": lambda c: _attention(*_qkv(c, 0, True)), "_flash_attention_backward": lambda c: _attention_backward(*_qkv(c, 1, True)),
        "_efficient_attention_forward": lambda c: _attention(*_qkv(c, 0, True)),
        "_efficient_attention_backward": lambda c: _attention_backward(*_qkv(c, 1, True)),
    }
    for name in ("mm", "bmm", "mv", "dot", "vdot", "matmul", "_scaled_mm", "_int_mm"):
        table[name] = _product(0, 1, ("self", "mat2"))
    for name in ("addmm", "baddbmm", "addbmm", "addmv", "_addmm_activation"):
        table[name] = _product(1, 2, ("mat1", "mat2"))
    for name in ("convolution", "_convolution", "convolution_overrideable"):
        table[name] = lambda c: _convolution(c, bool(argument(c, 6, "transposed", False)))
    for name in ("cudnn_convolution", "mkldnn_convolution", "miopen_convolution", "_slow_conv2d_forward", "_conv_depthwise2d", "conv_depthwise3d",
                 "slow_conv3d_forward", "conv1d", "conv2d", "conv3d"):
        table[name] = lambda c: _convolution(c, False)
    for name in ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cudnn_convolution_transpose"):
        table[name] = lambda c: _convolution(c, True)
    for kind in ("flash_attention", "flash_attention_for_cpu", "efficient_attention", "cudnn_attention", "fused_attention_overrideable", "attention_math"):
        table[f"_scaled_dot_product_{kind}"] = lambda c: _attention(*_qkv(c, 0))
        table[f"_scaled_dot_product_{kind}_backward"] = lambda c: _attention_backward(*_qkv(c, 1))
    table["scaled_dot_product_attention"] = table["_scaled_dot_product_attention_math"]
    return table


_FORMULAS = _table()
_CONVOLUTIONS = frozenset(("convolution", "_convolution", "convolution_overrideable", "convolution_backward", "convolution_backward_overrideable"))


def matrix_flops(call: OpCall) -> int | None:
    """FLOPs of a PyTorch operation that multiplies matrices, or None if there is no formula. A formula that the user registered with torch counts too."""
    name = op_name(call.op)
    if name.namespace == "aten" and name.base in _FORMULAS:
        return _FORMULAS[name.base](call)
    return _registered(call)


def _registered(call: OpCall) -> int | None:
    """What the user taught torch by ``register_flop_formula``, for custom operations."""
    torch = sys.modules.get("torch")
    name = op_name(call.op)
    if torch is None or not name.namespace or name.namespace in ("aten", "onnx", "tf", "jax"):
        return None
    from torch.utils.flop_counter import flop_registry
    packet = getattr(getattr(torch.ops, name.namespace), name.base + "_" * name.inplace, None)
    if packet not in flop_registry:
        return None
    outputs = [o.shape for o in call.outputs]
    keywords = {key: _shapes(value) for key, value in call.kwargs.items()}
    return int(flop_registry[packet](*map(_shapes, call.args), **keywords, out_val=outputs[0] if len(outputs) == 1 else outputs))


def _shapes(value: Any) -> Any:
    """The same with shapes in the place of tensors."""
    if isinstance(value, TensorSpec):
        return value.shape
    return [_shapes(v) for v in value] if isinstance(value, (list, tuple)) else value
