"""Nodes that no GPU can run, as this TensorFlow's registered kernels tell."""

from __future__ import annotations

from functools import cache
from typing import Any


def knows_gpus() -> bool:
    """True if this TensorFlow has kernels for GPUs at all."""
    return bool(_kernels("MatMul"))


def has_gpu_kernel(node: Any) -> bool:
    """True if a GPU kernel of the node's operation takes the types that the node has."""
    return any(all(name in node.attr and node.attr[name].type in types for name, types in constraints) for constraints in _kernels(node.op))


@cache
def _kernels(op: str) -> list[list[tuple[str, frozenset[int]]]]:
    """The constraints (attribute, types) of each kernel of ``op`` that a GPU runs."""
    from tensorflow.python.framework import kernels

    return [[(c.name, frozenset(c.allowed_values.list.type)) for c in kernel.constraint]
            for kernel in kernels.get_registered_kernels_for_op(op).kernel if kernel.device_type in ("GPU", "DEFAULT")]
