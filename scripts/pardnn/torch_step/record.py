"""What is noted of each node while a step is recorded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .operators import Operator
from .values import Ref, Spec

if TYPE_CHECKING:
    import torch


class Record:
    """One node: an operation, or (``operator`` None) a residual, an input or a constant. References are in ``args`` and ``kwargs``."""

    __slots__ = ("name", "what", "operator", "func", "args", "kwargs", "reads", "after", "outputs", "stores", "extras", "extra_stores", "writes", "alias",
                 "mem", "kind", "root", "random", "flops", "is_view", "data", "foreign")

    def __init__(self, name: str, what: str) -> None:
        self.name = name
        self.what = what
        self.operator: Operator | None = None
        self.func: Any = None
        self.args: tuple[Any, ...] = ()
        self.kwargs: dict[str, Any] = {}
        self.reads: tuple[Ref, ...] = ()
        self.after: tuple[int, ...] = ()
        self.outputs: list[Spec | None] = []
        self.stores: list[tuple[int, int]] = []  # of each output: number of its storage (-1: no tensor), bytes of it if it is new
        self.extras: list[tuple[Ref, Spec]] = []
        self.extra_stores: list[int] = []
        self.writes: tuple[int, ...] = ()
        self.alias: Ref | None = None
        self.mem = 0
        self.kind = 0
        self.root = -1  # residual whose device this node shares
        self.random = -1
        self.flops: int | None = None
        self.is_view = False
        self.data: torch.Tensor | None = None
        self.foreign = ""  # the line that read a constant that the step did not make

    def spec(self, output: int) -> Spec:
        """Geometry of an output, or of an extra output (a value as it is after the write)."""
        found = self.outputs[output] if output < len(self.outputs) else self.extras[output - len(self.outputs)][1]
        assert found is not None, "an output that is no tensor is not read"
        return found

    def store(self, output: int) -> int:
        """Number of the storage of an output."""
        return self.stores[output][0] if output < len(self.outputs) else self.extra_stores[output - len(self.outputs)]


def written(records: Iterable[Record]) -> set[int]:
    """Nodes whose memory some call writes."""
    return {w for r in records for w in r.writes}
