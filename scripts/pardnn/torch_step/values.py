"""Values of a program: where a tensor comes from, its geometry, and how arguments of an operation are told without tensors."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import torch


class Ref(NamedTuple):
    """Output number ``output`` of node ``node``."""

    node: int
    output: int


class Spec(NamedTuple):
    """Geometry of a tensor in its storage; strides and offset in elements, ``dtype`` like ``float32``.

    ``lazy``: ``c`` for a conjugate and ``n`` for a negative that is still to be computed from what the storage has.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: str
    itemsize: int
    lazy: str = ""

    @property
    def unique_bytes(self) -> int:
        """Bytes of distinct elements: what travels. An expanded dimension (stride 0) counts once."""
        return prod([s for s, stride in zip(self.shape, self.strides) if stride != 0 or s == 0]) * self.itemsize

    @property
    def span(self) -> int:
        """Elements from the first to the last one in storage."""
        if 0 in self.shape:
            return 0
        return 1 + sum((s - 1) * stride for s, stride in zip(self.shape, self.strides))


class Atom(NamedTuple):
    """A plain value that JSON has no word for: a dtype, device, layout, memory format or complex number."""

    kind: str
    text: str


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def spec_of(tensor: torch.Tensor) -> Spec:
    return Spec(tuple(tensor.shape), tuple(tensor.stride()), int(tensor.storage_offset()), dtype_name(tensor.dtype), tensor.dtype.itemsize,
                ("c" if tensor.is_conj() else "") + ("n" if tensor.is_neg() else ""))


def map_args(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """``leaf`` of every leaf of nested lists and tuples (both come back as tuples)."""
    if isinstance(value, (list, tuple)) and not isinstance(value, (Ref, Spec, Atom)):
        return tuple(map_args(v, leaf) for v in value)
    return leaf(value)


def refs_in(value: Any) -> list[Ref]:
    """All references in nested arguments, in order."""
    if isinstance(value, Ref):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (list, tuple)) and not isinstance(value, (Spec, Atom)):
        return [r for v in value for r in refs_in(v)]
    return []


def atom_of(value: Any) -> Any:
    """A plain argument as the program keeps it. Raises TypeError for what a program cannot hold."""
    import torch

    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    for kind, cls in (("dtype", torch.dtype), ("layout", torch.layout), ("memory_format", torch.memory_format)):
        if isinstance(value, cls):
            return Atom(kind, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return Atom("device", value.type)
    if isinstance(value, complex):
        return Atom("complex", f"{value.real!r} {value.imag!r}")
    raise TypeError(f"an argument of type {type(value).__name__}")


def atom_value(atom: Atom, device: Callable[[str], torch.device]) -> Any:
    """The value of an atom; ``device`` says what device stands for a captured device type."""
    import torch

    if atom.kind == "device":
        return device(atom.text)
    if atom.kind == "complex":
        return complex(*(float(x) for x in atom.text.split()))
    return getattr(torch, atom.text)


def flat_tensors(value: Any) -> list[torch.Tensor | None]:
    """Outputs of an operation as one flat list: tensors as they are, what is no tensor as None."""
    import torch

    if isinstance(value, (list, tuple)):
        return [t for v in value for t in flat_tensors(v)]
    return [value if isinstance(value, torch.Tensor) else None]
