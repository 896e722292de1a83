"""Parameters, buffers and optimizer state in files of the ordinary form: {"model": state_dict, "optimizer": state_dict, "buffers": ...}.

``buffers`` are those that a module leaves out of its ``state_dict`` (``persistent=False``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from ..atomic_file import replacing
from ..torch_step.errors import ProgramError
from ..torch_step.program import Program
from ..torch_step.state import load_state, module_state, named_state, optimizer_state
from ..torch_step.step import Step
from ..torch_step.values import Ref
from .errors import RunError

SHARD = "rank{}.pt"


@dataclass
class State:
    """Tensors by qualified name and the optimizers' ``state_dict()``; ``step``: the number of the next step. ``note``: where it comes from.

    ``transient``: names of tensors that are in no ``state_dict``.
    """

    tensors: dict[str, torch.Tensor] = field(default_factory=dict)
    optimizers: list[dict[str, Any]] = field(default_factory=list)
    step: int = 0
    note: str = ""
    transient: set[str] = field(default_factory=set)


def state_of_step(step: Step, optimizer: torch.optim.Optimizer | None = None) -> State:
    """What a model has when it is made."""
    optimizer = optimizer or step.optimizer(step.module.parameters())
    tensors = module_state(step.module)
    return State(tensors, [optimizer.state_dict()], note="the model's own", transient=set(tensors) - set(step.module.state_dict()))


def read_state(path: str, start: State | None = None) -> State:
    """A file that ``torch.save`` wrote (a module's ``state_dict()`` or {"model": ..., "optimizer": ...}), or a folder of one such file per rank.

    What the file does not have is as in ``start``. Tensors stay on disk until they are used. Raises RunError on another content.
    """
    found = start or State()
    files = sorted(Path(path).glob(SHARD.format("*"))) if Path(path).is_dir() else [Path(path)]
    if not files or not files[0].is_file():
        raise RunError(f"{path}: a folder without {SHARD.format(0)}" if Path(path).is_dir() else f"{path}: no such file")
    optimizers: list[dict[str, Any]] = []
    for file in files:
        content = load_file(file)
        model = content.get("model", content.get("state_dict"))
        if model is None and all(isinstance(v, torch.Tensor) for v in content.values()):
            model = content
        if not isinstance(model, Mapping):
            raise RunError(f"{file}: expected a state_dict, or a dict with 'model'")
        found.tensors.update(model)
        found.tensors.update(content.get("buffers", {}))
        found.transient.update(content.get("buffers", {}))
        given = content.get("optimizers", content["optimizer"] if "optimizer" in content else [])
        for index, optimizer in enumerate(given if isinstance(given, list) else [given]):
            if index == len(optimizers):
                optimizers.append({"state": {}})
            for number, values in optimizer["state"].items():
                optimizers[index]["state"].setdefault(number, {}).update(values)
            optimizers[index].update({k: v for k, v in optimizer.items() if k != "state"})
        found.step = int(content.get("step", 0))
    found.optimizers = optimizers or found.optimizers
    found.note = path
    return found


def load_file(file: Path) -> dict[str, Any]:
    """The dictionary in a file of ``torch.save``, on disk until it is used. Raises RunError on another content."""
    try:
        content = torch.load(file, map_location="cpu", mmap=True, weights_only=True)
    except (OSError, RuntimeError, ValueError, KeyError, EOFError) as error:
        raise RunError(f"{file}: not a file of torch.save with tensors alone ({' '.join(str(error).split())[:120]})") from error
    except Exception as error:  # pickle has errors of its own
        raise RunError(f"{file}: {type(error).__name__}: {' '.join(str(error).split())[:120]}") from error
    if not isinstance(content, dict):
        raise RunError(f"{file}: expected a dict, found {type(content).__name__}")
    return content


def synthetic_state(program: Program, seed: int) -> State:
    """Seeded numbers where no state is given: good for times, not for results. Weights by name, buffers zero."""
    from zlib import crc32

    found = State(note="synthetic: small random parameters, zero buffers")
    for binding in program.bindings:
        if binding.slot is not None:
            continue
        dtype = getattr(torch, binding.spec.dtype)
        tensor = torch.zeros(binding.spec.shape, dtype=dtype)
        if binding.role == "parameter" and dtype.is_floating_point:
            generator = torch.Generator().manual_seed((seed << 32) + crc32(binding.name.encode()))
            tensor.normal_(0.0, 0.02, generator=generator)
        found.tensors[binding.name] = tensor
    return found


def device_state(program: Program, state: State, nodes: set[int], device: torch.device) -> dict[Ref, torch.Tensor]:
    """Values of the residuals ``nodes``. Raises RunError where the state lacks one."""
    try:
        return load_state(program, state.tensors, state.optimizers, device=device, nodes=nodes)
    except ProgramError as error:
        raise RunError(f"{error} ({state.note}); a state_dict has no buffers with persistent=False: give --model too") from error


def content_of(program: Program, values: Mapping[Ref, torch.Tensor], start: State, step: int) -> dict[str, Any]:
    """What goes into a file: state of ``values`` (all, or a rank's own), tied parameters under each of their names."""
    named = named_state(program, values)
    content = {"model": {k: v for k, v in named.items() if k not in start.transient}, "step": step,
               "buffers": {k: v for k, v in named.items() if k in start.transient}}
    indices = sorted({b.slot[0] for b in program.bindings if b.slot is not None} | set(range(len(start.optimizers))))
    optimizers = [{**{k: v for k, v in (start.optimizers[i] if i < len(start.optimizers) else {}).items() if k != "state"},
                   "state": optimizer_state(program, values, i)} for i in indices]
    return {**content, "optimizer": optimizers[0]} if len(optimizers) == 1 else {**content, "optimizers": optimizers}


def save(path: str | os.PathLike[str], content: dict[str, Any]) -> None:
    """``torch.save``, atomically."""
    with replacing(path) as file:
        torch.save(content, file)


def gathered(program: Program, own: Mapping[Ref, torch.Tensor], owner: Mapping[int, int], rank: int, send: Callable[[torch.Tensor, int], None],
             receive: Callable[[torch.Tensor, int], None]) -> dict[Ref, torch.Tensor] | None:
    """All residuals' values on rank 0 (elsewhere None), in CPU memory, one after the other; ``owner``: rank by node."""
    found: dict[Ref, torch.Tensor] = {}
    seen: set[Ref] = set()
    for binding in program.bindings:
        if binding.ref in seen:
            continue
        seen.add(binding.ref)
        home = owner[binding.ref.node]
        if rank == 0:
            if home == 0:
                found[binding.ref] = own[binding.ref].cpu()
            else:
                tensor = torch.empty(binding.spec.shape, dtype=getattr(torch, binding.spec.dtype))
                receive(tensor, home)
                found[binding.ref] = tensor
        elif home == rank:
            send(own[binding.ref].contiguous(), 0)
    return found if rank == 0 else None
