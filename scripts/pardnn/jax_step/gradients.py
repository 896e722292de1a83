"""Gradients of the state's leaves, found by the scopes that JAX's differentiation leaves."""

from __future__ import annotations

from collections.abc import Sequence

from .program import Op, Program, Value


def gradients(program: Program, leaves: int, readers: Sequence[Sequence[int]], needed: Sequence[int]) -> dict[int, Value]:
    """Leaf -> the value that is its gradient.

    Backward operations carry a scope ``transpose(...)``, those of the forward pass ``jvp(...)``. A leaf that the forward pass reads is a
    parameter. From its new value back through operations outside the backward pass whose results have the leaf's shape (so not through a
    norm), the one backward value of that shape is its gradient; where there are several, none is. O(values) for each leaf's own update.
    """
    found: dict[int, Value] = {}
    for leaf, result in enumerate(program.results[:leaves]):
        argument = program.arguments[leaf]
        if result is None or not any(needed[r] and "jvp(" in program.ops[r].scope for r in readers[argument]):
            continue
        shape = program.ops[argument].outputs[0].shape
        border: set[Value] = set()
        seen = {result}
        stack = [result]
        while stack:
            value = stack.pop()
            op = program.ops[value.op]
            if _is_backward(op):
                border.add(value)
                continue
            for source in op.inputs:
                if source is not None and source not in seen and program.ops[source.op].outputs[source.output].shape == shape:
                    seen.add(source)
                    stack.append(source)
        if len(border) == 1:
            found[leaf] = border.pop()
    return found


def _is_backward(op: Op) -> bool:
    return "transpose(" in op.scope
