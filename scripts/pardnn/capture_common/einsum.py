"""Floating-point operations of an einsum."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod


def einsum_flops(equation: str, shapes: Sequence[Sequence[int]]) -> int | None:
    """Two for each point of the space that all labels span, one with a single operand; None if the equation does not fit the shapes.

    An ellipsis stands for leading dimensions that are broadcast.
    """
    terms = equation.replace(" ", "").split("->")[0].split(",")
    if len(terms) != len(shapes):
        return None
    size: dict[str, int] = {}
    for term, shape in zip(terms, shapes):
        labels = _labels(term, len(shape))
        if labels is None:
            return None
        for label, extent in zip(labels, shape):
            size[label] = max(size.get(label, 1), extent)
    return (2 if len(terms) > 1 else 1) * max(len(terms) - 1, 1) * prod(size.values())


def _labels(term: str, rank: int) -> list[str] | None:
    """A label for each dimension; those under the ellipsis are counted from its right end, so that broadcasting aligns."""
    if "..." not in term:
        return list(term) if len(term) == rank else None
    left, right = term.split("...")
    hidden = rank - len(left) - len(right)
    return None if hidden < 0 else [*left, *(f".{hidden - i}" for i in range(hidden)), *right]
