"""What a step finds when it begins: its modules and optimizers are checked, and their tensors declared as residuals under their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._subclasses import FakeTensor

from .errors import CaptureError
from .fake import Faker
from .initial import Initial
from .names import Names
from .optimizers import rate_slots, state_slots
from .program import Binding
from .record import written
from .recorder import Recorder
from .state import attribute_tensors
from .values import Ref, spec_of


def check_modules(modules: dict[str, Any]) -> None:
    """Raises CaptureError, one line, for what is no module, or holds state that no graph can."""
    for prefix, module in modules.items():
        if not isinstance(module, torch.nn.Module):
            raise CaptureError(f"modules: expected torch.nn.Module, found {type(module).__name__}")
        for path, part in module.named_modules():
            label = ".".join(p for p in (prefix, path) if p) or "the module"
            if isinstance(part, torch.jit.ScriptModule):
                raise CaptureError(f"{label} is compiled by TorchScript, whose state cannot be replaced; give the module as it was written")
            lazy = (torch.nn.parameter.UninitializedParameter, torch.nn.parameter.UninitializedBuffer)
            if any(isinstance(p, lazy) for p in (*part._parameters.values(), *part._buffers.values())):
                raise CaptureError(f"{label}: {type(part).__name__} has parameters without a shape; run the module once, or give the sizes")
            for name, tensor in (*part._parameters.items(), *part._buffers.items()):
                if tensor is not None and tensor.layout is not torch.strided:
                    raise CaptureError(f"{label}: '{name}' is of layout {tensor.layout}, which has no storage to follow; use a dense tensor")


def check_optimizers(modules: dict[str, Any], optimizers: Sequence[torch.optim.Optimizer]) -> None:
    """Raises CaptureError where one is none, or updates what is in none of the modules."""
    known = {id(p) for _, p in parameters_of(modules)}
    for index, optimizer in enumerate(optimizers):
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise CaptureError(f"optimizers: expected torch.optim.Optimizer, found {type(optimizer).__name__}")
        for number, parameter in enumerate(p for group in optimizer.param_groups for p in group["params"]):
            if id(parameter) not in known:
                raise CaptureError(f"optimizer {index} ({type(optimizer).__name__}) updates parameter {number} of shape {list(parameter.shape)}, "
                                   "which is in none of the modules given")


def check_inputs(labels: Sequence[str], tensors: Sequence[torch.Tensor]) -> None:
    """Raises CaptureError where an input has no storage that can be followed."""
    for label, tensor in zip(labels, tensors):
        if tensor.layout is not torch.strided:
            raise CaptureError(f"{label}: is of layout {tensor.layout}, which has no storage to follow; use a dense tensor")


def parameters_of(modules: dict[str, Any]) -> list[tuple[str, torch.nn.Parameter]]:
    """Every parameter under each of its names."""
    return [(".".join(p for p in (prefix, path) if p), parameter) for prefix, module in modules.items()
            for path, parameter in module.named_parameters(remove_duplicate=False)]


def declare_state(recorder: Recorder, names: Names, modules: dict[str, Any], optimizers: Sequence[torch.optim.Optimizer],
                   initial: Initial) -> list[Binding]:
    """Nodes for all that lives across steps: parameters, buffers, optimizer state, in this order."""
    found: list[Binding] = []

    def bind(tensor: torch.Tensor, label: str, what: str, role: str, tag: str, slot: tuple[int, int, str] | None = None) -> Ref:
        ref = recorder.tensors.declare(tensor, label, what, residual=True, tag=tag)
        found.append(Binding(label, ref, role, spec_of(tensor), slot, initial.of(tensor) if slot else None))
        return ref

    for label, parameter in parameters_of(modules):
        tag = names.variables.setdefault(id(parameter), label)
        bind(parameter, label, "Variable", "parameter", tag)
    for prefix, module in modules.items():
        for path, buffer in module.named_buffers(remove_duplicate=False):
            label = ".".join(p for p in (prefix, path) if p)
            bind(buffer, label, "Variable", "buffer", label)
    for index, optimizer in enumerate(optimizers):
        for parameter, number, key, tensor in state_slots(optimizer):
            tag = names.variables[id(parameter)]
            ref = bind(tensor, f"{tag}/{key}", "Variable", "optimizer", tag, (index, number, key))
            recorder.ties.append((recorder.tensors.value(parameter).node, ref.node))
        for number, key, tensor in rate_slots(optimizer):
            bind(tensor, f"optimizer{index}.group{number}/{key}", "Variable", "rate", "", (index, number, key))
    return found


def name_others(recorder: Recorder, modules: dict[str, Any], faker: Faker) -> None:
    """Tells the recorder of tensors that the step may find although they are no state: gradients, attributes, and what fake tensors stand for."""
    parameters = parameters_of(modules)
    recorder.tensors.kept_gradients = {p.grad.untyped_storage()._cdata: f"{label}/grad" for label, p in reversed(parameters)
                               if p.grad is not None and p.grad.layout is torch.strided}
    recorder.tensors.attributes = {t.untyped_storage()._cdata: ".".join(p for p in (prefix, path) if p) for prefix, module in reversed(modules.items())
                           for path, t in reversed(attribute_tensors(module).items()) if t.layout is torch.strided}
    label_of = {id(p): label for label, p in parameters}
    recorder.tensors.originals = {old.untyped_storage()._cdata: label_of.get(id(new), "a buffer or a part of an optimizer's state")
                          for old, new in faker.originals() if not isinstance(old, FakeTensor)}


def unknown_starts(bindings: Sequence[Binding], optimizers: Sequence[torch.optim.Optimizer], fresh: Sequence[bool]) -> list[str]:
    """Warnings about new optimizers' state that is no fixed number before the first step. (0 is right for SGD's momentum without dampening.)"""
    found: dict[tuple[int, str], str] = {}
    for b in bindings:
        if b.role == "optimizer" and b.slot is not None and b.initial is None and fresh[b.slot[0]]:
            optimizer = optimizers[b.slot[0]]
            if not (type(optimizer) is torch.optim.SGD and all(group["dampening"] == 0 for group in optimizer.param_groups)):
                found.setdefault((b.slot[0], b.slot[2]), f"{b.name}: {type(optimizer).__name__} computes '{b.slot[2]}' in its first step, which a program "
                                 "cannot; a run starts it at 0 and differs, unless it is given the state after a plain first step")
    return list(found.values())


def updated_without_gradient(recorder: Recorder, bindings: Sequence[Binding]) -> list[str]:
    """Names of parameters that the step writes and that ``backward()`` gave no gradient."""
    changed = written(recorder.records)
    return [b.name for b in bindings if b.role == "parameter" and b.ref.node in changed and b.ref.node not in recorder.gradients]
