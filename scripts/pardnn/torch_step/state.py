"""State of a training run in and out of a program: modules and optimizers by their ordinary names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from .errors import ProgramError
from .program import Binding, Program
from .replay import over_storage
from .values import Ref


def module_state(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """All tensors of a module by name: ``state_dict()``, the buffers that it leaves out, and plain attributes (not copies)."""
    return {**attribute_tensors(module), **{n: p.detach() for n, p in module.named_parameters(remove_duplicate=False)},
            **{n: b.detach() for n, b in module.named_buffers(remove_duplicate=False)}}


def attribute_tensors(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Tensors that are plain attributes of modules, neither parameters nor buffers, by qualified name."""
    return {f"{path}.{name}" if path else name: value for path, part in module.named_modules() for name, value in vars(part).items()
            if isinstance(value, torch.Tensor)}


def load_state(program: Program, tensors: Mapping[str, torch.Tensor], optimizers: Sequence[Mapping[str, Any]] = (), *,
               device: torch.device | str = "cpu", nodes: set[int] | None = None) -> dict[Ref, torch.Tensor]:
    """Values of the residual nodes: copies of ``tensors`` (by qualified name) and of the optimizers' ``state_dict()``.

    Without an entry, optimizer state starts as it does in a new optimizer. ``nodes``: only these residuals (a rank's own). Raises ProgramError
    on a missing or misshapen tensor.
    """
    found: dict[Ref, torch.Tensor] = {}
    storages: dict[int, torch.Tensor] = {}
    ends = _ends(program)
    for binding in program.bindings:
        if (nodes is not None and binding.ref.node not in nodes) or binding.ref in found:
            continue
        source = _source(binding, tensors, optimizers)
        if binding.ref.node not in storages:
            storages[binding.ref.node] = _memory(binding, ends[binding.ref.node], device)
        view = found[binding.ref] = over_storage(storages[binding.ref.node], binding.spec)
        if isinstance(source, torch.Tensor):
            if tuple(source.shape) != binding.spec.shape:
                raise ProgramError(f"{binding.name}: expected shape {list(binding.spec.shape)}, found {list(source.shape)}")
            view.copy_(source.detach())
        else:
            view.fill_(source)
    return found


def _memory(binding: Binding, size: int, device: torch.device | str) -> torch.Tensor:
    elements = -(-size // binding.spec.itemsize)
    try:
        return torch.empty(elements, dtype=getattr(torch, binding.spec.dtype), device=device)
    except RuntimeError as error:  # torch.OutOfMemoryError is one
        raise ProgramError(f"{binding.role} '{binding.name}' needs {elements * binding.spec.itemsize} bytes on {device}, which are not there") from error


def _ends(program: Program) -> dict[int, int]:
    """Bytes of each residual's storage, as far as its names reach."""
    found: dict[int, int] = {}
    for b in program.bindings:
        found[b.ref.node] = max(found.get(b.ref.node, 0), (b.spec.offset + b.spec.span) * b.spec.itemsize)
    return found


def _source(binding: Binding, tensors: Mapping[str, torch.Tensor], optimizers: Sequence[Mapping[str, Any]]) -> Any:
    if binding.slot is None:
        if binding.name not in tensors:
            if binding.initial is not None:
                return binding.initial
            raise ProgramError(f"{binding.role} '{binding.name}' is missing in the state given")
        return tensors[binding.name]
    index, number, key = binding.slot
    if binding.role == "rate":
        if index >= len(optimizers):
            raise ProgramError(f"'{binding.name}' is missing in the state given")
        return optimizers[index]["param_groups"][number][key]
    stored = optimizers[index]["state"] if index < len(optimizers) else {}
    if number in stored and stored[number].get(key) is not None:
        return stored[number][key]
    return binding.initial if binding.initial is not None else 0.0


def named_state(program: Program, values: Mapping[Ref, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Tensors by name: parameters and buffers, for ``module.load_state_dict`` (those that ``values`` has)."""
    return {b.name: values[b.ref] for b in program.bindings if b.role in ("parameter", "buffer", "closure") and b.ref in values}


def optimizer_state(program: Program, values: Mapping[Ref, torch.Tensor], index: int = 0) -> dict[int, dict[str, torch.Tensor]]:
    """The ``state`` part of an optimizer's ``state_dict()``, of what ``values`` has."""
    found: dict[int, dict[str, torch.Tensor]] = {}
    for b in program.bindings:
        if b.role == "optimizer" and b.slot is not None and b.slot[0] == index and b.ref in values:
            found.setdefault(b.slot[1], {})[b.slot[2]] = values[b.ref]
    return found
