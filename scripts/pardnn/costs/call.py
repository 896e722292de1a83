"""What a cost model is told about an operation, and what it answers. No framework is needed here."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from math import prod
from typing import Any, Protocol


@dataclass(frozen=True)
class TensorSpec:
    """Shape, strides (in elements; None: dense, row-major), type (``float32``) and size of one element in bytes."""

    shape: tuple[int, ...]
    dtype: str
    itemsize: int
    strides: tuple[int, ...] | None = None

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def unique_bytes(self) -> int:
        """Bytes of distinct elements: a dimension that is expanded (stride 0) counts once."""
        if self.strides is None:
            return self.elements * self.itemsize
        return prod(s for s, stride in zip(self.shape, self.strides) if stride != 0) * self.itemsize if self.elements else 0


@dataclass(frozen=True)
class OpCall:
    """One call of an operation. In ``args`` and ``kwargs`` tensors are :class:`TensorSpec`, all else are plain values (lists nest).

    ``op``: qualified name as its framework has it (``aten::addmm.default``, ``onnx::Conv``, ``jax::dot_general``, ``tf::MatMul``).
    ``flops``: floating-point operations, a multiply and an add being two, where the capture knows; None leaves it to the model.
    ``is_view``: the outputs are views of an input, no memory is touched.
    """

    op: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    outputs: tuple[TensorSpec, ...] = ()
    flops: int | None = None
    is_view: bool = False

    def inputs(self) -> list[TensorSpec]:
        """All tensors among the arguments, nested lists included, in order."""
        found: list[TensorSpec] = []
        stack: list[Any] = [*reversed(list(self.kwargs.values())), *reversed(self.args)]
        while stack:
            value = stack.pop()
            if isinstance(value, TensorSpec):
                found.append(value)
            elif isinstance(value, (list, tuple)):
                stack.extend(reversed(value))
        return found


class How(Enum):
    """Where a cost comes from."""

    MEASURED = "measured"
    MODELLED = "modelled"
    GUESSED = "guessed"


@dataclass(frozen=True)
class Cost:
    """Time in ns, workspace in bytes, floating-point operations, and where the time comes from."""

    ns: int
    temp: int = 0
    flops: int = 0
    how: How = How.MODELLED


class CostModel(Protocol):
    """Gives the cost of a call on one device."""

    def cost(self, call: OpCall) -> Cost: ...
