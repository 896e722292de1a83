"""Floating-point operations of JAX's products and convolutions; a multiply and an add are two."""

from __future__ import annotations

from math import prod

from .program import Op


def flops_of(op: Op) -> int | None:
    """None for operations without products (the cost model's part).

    A convolution over a dilated input (the gradient of a strided one) skips the zeros between the elements; taps that fall on the border
    are counted all the same.
    """
    if op.primitive == "dot_general":
        (contracted, _), _ = op.params["dimension_numbers"]
        return 2 * op.outputs[0].elements * prod(op.specs[0].shape[d] for d in contracted)
    if op.primitive == "conv_general_dilated":
        rhs = op.params["dimension_numbers"].rhs_spec
        taps = prod(op.specs[1].shape[d] for d in rhs[1:])
        return 2 * op.outputs[0].elements * taps // prod(op.params["lhs_dilation"])
    if op.primitive in ("ragged_dot", "ragged_dot_general") and len(op.specs[0].shape) == 2:
        return 2 * op.outputs[0].elements * op.specs[0].shape[1]
    return None
