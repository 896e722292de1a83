"""The usual training step: micro-batches of forward, loss and backward, clipping, update. Captured as it is, and run plainly as a reference."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .errors import CaptureError


@dataclass
class Step:
    """What a model file's function returns: everything that a training step is made of.

    ``loss(module, *inputs)`` gives the loss, a scalar tensor that is a mean over samples. ``inputs``: example inputs of one whole step (tensors,
    or nested lists and dicts of them), samples along dimension 0. ``optimizer(parameters)`` makes the optimizer; ``clip`` is the greatest norm of
    all gradients, None for no clipping. ``samples``: samples per step, by default the first input's size along dimension 0.
    """

    module: torch.nn.Module
    loss: Callable[..., torch.Tensor]
    inputs: Sequence[Any]
    optimizer: Callable[[Any], torch.optim.Optimizer]
    clip: float | None = None
    samples: int | None = None
    name: str = ""

    def check(self) -> None:
        """Raises CaptureError, one line, for what no step can be made of."""
        if not isinstance(self.module, torch.nn.Module):
            raise CaptureError(f"module: expected torch.nn.Module, found {type(self.module).__name__}")
        for what, value in (("loss", self.loss), ("optimizer", self.optimizer)):
            if not callable(value):
                expected = "a function of the parameters, like lambda p: AdamW(p)" if what == "optimizer" else "a function of the module and the inputs"
                raise CaptureError(f"{what}: expected {expected}, found {type(value).__name__}")
        if not isinstance(self.inputs, (list, tuple)):
            raise CaptureError(f"inputs: expected a tuple of the loss function's arguments, found {type(self.inputs).__name__}")
        if self.clip is not None and not (isinstance(self.clip, (int, float)) and self.clip > 0):
            raise CaptureError(f"clip: expected a positive number, found {self.clip!r}")
        if not isinstance(self.batch(), int) or not 1 <= self.batch() < 1 << 62:
            raise CaptureError(f"a step of {self.batch()} samples: expected a whole number, at least one")
        if next(self.module.parameters(), None) is None:
            raise CaptureError(f"{type(self.module).__name__} has no parameters: nothing can be trained")
        try:
            signature = inspect.signature(self.loss)
        except (TypeError, ValueError):
            return
        try:
            signature.bind(self.module, *self.inputs)
        except TypeError as error:
            raise CaptureError(f"loss{signature}: called with the module and {len(self.inputs)} inputs: {error}") from error

    def batch(self) -> int:
        """Samples per step."""
        return self.samples if self.samples is not None else batch_size(self.inputs)


def as_step(found: Any) -> Step:
    """A Step from what a user's function returned: a Step, or (module, loss, inputs, optimizer[, clip])."""
    if isinstance(found, Step):
        return found
    if isinstance(found, tuple) and 4 <= len(found) <= 5 and isinstance(found[0], torch.nn.Module):
        return Step(*found)
    raise CaptureError(f"expected a Step or (module, loss, inputs, optimizer), found {type(found).__name__}")


def batch_size(inputs: Any) -> int:
    """Size along dimension 0 of the first tensor that has dimensions; 1 without one."""
    return next((t.shape[0] for t in pytree.tree_leaves(inputs) if isinstance(t, torch.Tensor) and t.dim()), 1)


def split_inputs(inputs: Sequence[Any], parts: int) -> list[Any]:
    """The inputs of each micro-batch: tensors with samples along dimension 0 are split into views, all else is in every part."""
    if parts == 1:
        return [inputs]
    batch = batch_size(inputs)
    if parts < 1 or batch % parts:
        raise CaptureError(f"{parts} micro-batches: a batch of {batch} samples is not a multiple of it")
    size = batch // parts

    def part(index: int) -> Any:
        return pytree.tree_map(lambda t: t[index * size:(index + 1) * size] if splits(t, batch) else t, inputs)

    return [part(index) for index in range(parts)]


def splits(value: Any, batch: int) -> bool:
    """Whether a leaf of the inputs has samples along dimension 0."""
    return isinstance(value, torch.Tensor) and value.dim() > 0 and value.shape[0] == batch


def train_step(step: Step, optimizer: torch.optim.Optimizer, parts: Sequence[Any],
               phase: Callable[[str, str], None] = lambda phase, part: None) -> dict[str, torch.Tensor]:
    """One step over micro-batches ``parts`` (see :func:`split_inputs`); returns the loss. ``phase`` hears what is being done."""
    optimizer.zero_grad()
    total: torch.Tensor | None = None
    for index, inputs in enumerate(parts):
        phase("", f"mb{index}" if len(parts) > 1 else "")
        loss = _scalar(step.loss(step.module, *inputs))
        if len(parts) > 1:
            loss = loss / len(parts)
        loss.backward()
        total = loss.detach() if total is None else total + loss.detach()
        del loss
    if step.clip is not None:
        phase("opt/clip", "")
        torch.nn.utils.clip_grad_norm_(step.module.parameters(), step.clip, foreach=False)
    phase("opt", "")
    optimizer.step()
    phase("", "")
    assert total is not None
    return {"loss": total}


def _scalar(loss: Any) -> torch.Tensor:
    if not isinstance(loss, torch.Tensor):
        raise CaptureError(f"the loss function returns {type(loss).__name__}, expected a scalar tensor")
    if loss.numel() != 1:
        raise CaptureError(f"the loss function returns a tensor of shape {list(loss.shape)}, expected a scalar (a mean over samples)")
    if not loss.requires_grad:
        raise CaptureError("the loss depends on no parameter that requires a gradient: nothing can be trained")
    return loss


def input_names(function: Callable[..., Any], inputs: Sequence[Any], skip: int = 0) -> list[str]:
    """A name for each leaf of the inputs: the function's parameter, with the place inside it where it is nested."""
    try:
        names = [p.name for p in inspect.signature(function).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][skip:]
    except (TypeError, ValueError):
        names = []
    found = []
    for index, value in enumerate(inputs):
        base = names[index] if index < len(names) else f"x{index}"
        leaves = pytree.tree_flatten_with_path(value)[0]
        found += [base + "".join(f".{getattr(k, 'key', getattr(k, 'idx', k))}" for k in path) for path, _ in leaves]
    return found
