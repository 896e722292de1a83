"""Real tensors for a call that is to be timed: of its shapes, strides and types, with values that the operation accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .call import OpCall, TensorSpec
from .cost_cache import dense_strides
from .op_names import op_name

if TYPE_CHECKING:
    import torch

_INDEX_NAMES = ("index", "indices", "target", "offsets", "offset2bag", "bag_size", "seed", "philox")


def bytes_needed(call: OpCall) -> int:
    """Bytes of storage that the inputs and outputs take."""
    return sum(_storage(t) * t.itemsize for t in (*call.inputs(), *call.outputs))


def real_arguments(call: OpCall, overload: Any, device: torch.device) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of ``overload`` with tensors of random values on ``device``, the same ones each time.

    Integers: places inside of what they index, zeros for other indices and seeds, ones for the rest. Types, layouts and the like may be
    given by name (``float32``); a device by any name becomes ``device``.
    """
    import torch

    generator = torch.Generator(device).manual_seed(0)
    names = [a.name for a in overload._schema.arguments]

    def real(value: Any, name: str, position: tuple[int, ...]) -> Any:
        if isinstance(value, TensorSpec):
            return _tensor(value, _limit(call, position, name), generator)
        if isinstance(value, (list, tuple)):
            return [real(v, name, (*position, i)) for i, v in enumerate(value)]
        return device if name == "device" and value is not None else _named(value)

    args = [real(value, names[i] if i < len(names) else "", (i,)) for i, value in enumerate(call.args)]
    kwargs = {name: real(value, name, (names.index(name) if name in names else len(names),)) for name, value in call.kwargs.items()}
    return args, kwargs


def _named(value: Any) -> Any:
    import torch

    if isinstance(value, str):
        known = getattr(torch, value.removeprefix("torch."), None)
        if isinstance(known, (torch.dtype, torch.layout, torch.memory_format)):
            return known
    return value


def _storage(spec: TensorSpec) -> int:
    """Elements from the first to the last, gaps included and repeats once."""
    strides = spec.strides if spec.strides is not None else dense_strides(spec.shape)
    return 1 + sum((size - 1) * stride for size, stride in zip(spec.shape, strides)) if spec.elements else 0


def _tensor(spec: TensorSpec, limit: int | None, generator: torch.Generator) -> torch.Tensor:
    """``limit``: integers are below it; None where the values don't matter."""
    import torch

    dtype = getattr(torch, spec.dtype)
    size = _storage(spec)
    flat = torch.empty(size, dtype=dtype, device=generator.device)
    if dtype == torch.bool:
        flat.random_(0, 2, generator=generator)
    elif dtype.is_complex:
        torch.view_as_real(flat).uniform_(0.5, 1.5, generator=generator)
    elif dtype.is_floating_point and dtype.itemsize > 1:
        flat.uniform_(0.5, 1.5, generator=generator)  # no zeros, no subnormal numbers, logarithms and roots exist
    elif dtype.is_floating_point:
        flat.copy_(torch.ones(size, device=generator.device))
    elif limit is None:
        flat.fill_(1)
    else:
        flat.random_(0, max(limit, 1), generator=generator)
    return flat.as_strided(spec.shape, spec.strides if spec.strides is not None else dense_strides(spec.shape))


# Operations whose argument (position) indexes dimension `dimension` of the tensor at `table`: (position, table, dimension).
_ROWS = {
    "embedding": (1, 0, 0), "_embedding_bag": (1, 0, 0), "_embedding_bag_forward_only": (1, 0, 0), "nll_loss_forward": (1, 0, -1), "nll_loss": (1, 0, -1),
    "nll_loss_backward": (2, 1, -1), "nll_loss2d_forward": (1, 0, 1), "nll_loss2d_backward": (2, 1, 1),
}
# Those whose argument indexes the dimension that argument 1 names, of argument 0: (position of the index).
_ALONG = {"index_select": 2, "gather": 2, "scatter": 2, "scatter_add": 2, "scatter_reduce": 2, "index_add": 2, "index_copy": 2, "index_fill": 2}
_BY_DIMENSION = frozenset(("index", "index_put", "_index_put_impl", "_unsafe_index", "_unsafe_index_put"))


def _limit(call: OpCall, position: tuple[int, ...], name: str) -> int | None:
    """Integers at ``position`` must be below this; None where any value does."""
    base = op_name(call.op).base
    if base in _ROWS and position == (_ROWS[base][0],):
        _, table, dimension = _ROWS[base]
        return _size(call.args[table], dimension)
    if base in _ALONG and position == (_ALONG[base],):
        return _size(call.args[0], call.args[1])
    if base == "embedding_dense_backward" and position == (1,):
        return int(call.args[2])
    if base in _BY_DIMENSION and position[0] == 1 and len(position) == 2:
        return _size(call.args[0], position[1])
    if base.startswith("max_pool") and base.endswith("_backward") and name == "indices":
        pooled = 2 if "2d" in base else 3
        return _area(call.args[1], pooled)
    return 1 if any(word in name for word in _INDEX_NAMES) else None


def _size(table: Any, dimension: int) -> int:
    return table.shape[dimension] if isinstance(table, TensorSpec) and table.shape else 1


def _area(table: Any, dimensions: int) -> int:
    area = 1
    for size in table.shape[-dimensions:]:
        area *= size
    return area
