"""Bytes that an operation moves to and from device memory, and the workspace that it takes."""

from __future__ import annotations

from typing import Any, NamedTuple

from .call import CostModel, OpCall, TensorSpec
from .op_names import OpName, op_name
from .op_table import Kind, op_kind

_SORT_PASSES = 4  # radix sort of 32-bit keys, 8 bits a pass
_OVERWRITES = frozenset(("copy", "assign", "assign_variable_op", "_foreach_copy"))


class Traffic(NamedTuple):
    """``bytes`` moved, ``temp`` bytes of workspace; ``known`` is False where the operation's kind is unknown and all inputs and outputs are counted once."""

    bytes: int
    temp: int
    known: bool


def traffic(call: OpCall) -> Traffic:
    """What ``call`` moves. Expanded inputs count their distinct elements; in-place operations read and write what they change.

    Workspace is known for two kinds alone: an embedding's gradient sorts its indices (twice their size), and a sort keeps a second
    copy of its input. Everything else is said to take none: what a convolution takes depends on the algorithm that the library picks.
    """
    name = op_name(call.op)
    kind = op_kind(name)
    inputs, outputs = call.inputs(), _written(call, name)
    read, written = _size(inputs), _size(outputs)
    first = inputs[0].unique_bytes if inputs else 0
    rest = read - first
    if kind is Kind.RESERVE:
        return Traffic(0, 0, True)
    if kind is Kind.CREATE:
        return Traffic(written, 0, True)
    if kind is Kind.GATHER:
        return Traffic(min(first, written) + rest + written, 0, True)
    if kind is Kind.SCATTER:
        copied = 0 if name.inplace or not call.outputs else first + written
        return Traffic(copied + 2 * rest, 0, True)  # reads rows and indices; reads and writes, or writes, where they go
    if kind is Kind.TABLE_GRADIENT:
        return Traffic(written + 2 * read, 2 * _integers(inputs), True)
    if kind is Kind.NORMALIZE:
        return Traffic(read + first + written, 0, True)
    if kind is Kind.NORMALIZE_BACKWARD:
        return Traffic(read + first + written, 0, True)
    if kind is Kind.SORT:
        return Traffic(2 * _SORT_PASSES * read + written, read, True)
    if name.base in _OVERWRITES and inputs:
        return Traffic(rest + first, 0, True)
    return Traffic(read + written, 0, kind is not None)


def workspace(model: CostModel, call: OpCall) -> int:
    """The workspace that ``model`` would give ``call``, in bytes, where it can tell that without a time; else what is known of the operation."""
    own = getattr(model, "temp", None)
    return int(own(call)) if own is not None else traffic(call).temp


def _size(tensors: list[TensorSpec]) -> int:
    return sum(t.unique_bytes for t in tensors)


def _integers(tensors: list[TensorSpec]) -> int:
    return sum(t.unique_bytes for t in tensors if t.dtype.startswith(("int", "uint")))


# Fused optimizers change these arguments; the others are read.
_FUSED = {"_fused_adam": (0, 2, 3, 4, 5), "_fused_adamw": (0, 2, 3, 4, 5), "_fused_sgd": (0, 2), "_fused_adagrad": (0, 2, 3)}


def _written(call: OpCall, name: OpName) -> list[TensorSpec]:
    """The outputs; where an in-place operation names none, the arguments that it changes."""
    if call.outputs or not name.inplace:
        return list(call.outputs)
    changed: list[Any] = [call.args[i] for i in _FUSED.get(name.base, (0,)) if i < len(call.args)]
    return OpCall(call.op, tuple(changed)).inputs()
