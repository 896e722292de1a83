"""The inputs of each step: from the user's function, or seeded synthetic ones; each replica takes its part of the batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..torch_step.program import InputSlot, Program
from .errors import RunError

Batch = Callable[[int], torch.Tensor]


def whole_shape(slot: InputSlot) -> tuple[int, ...]:
    """Shape of the step's whole input that a slot is a part of."""
    return (slot.spec.shape[0] * slot.parts, *slot.spec.shape[1:]) if slot.parts > 1 else slot.spec.shape


class Batches:
    """``given``: yields for each step the tensors of the whole step (nested or flat, as they were captured), the same on every rank; None: synthetic.

    With R replicas an input has R times the samples of the capture along dimension 0, and replica r takes part r; one of the captured shape goes to all.
    """

    def __init__(self, program: Program, given: Iterator[Any] | None, *, seed: int, replica: int = 0, replicas: int = 1) -> None:
        self._slots = {slot.index: slot for slot in program.inputs}
        self._given, self._seed, self._replica, self._replicas = given, seed, replica, replicas
        self._bound = {s.index: _word_limit(program, s) for s in program.inputs} if given is None else {}

    def of_step(self, number: int) -> Batch:
        """The inputs of step ``number``; steps are asked for in order."""
        if self._given is None:
            return lambda index: self._synthetic(number, index)
        try:
            leaves = [t for t in pytree.tree_leaves(next(self._given)) if isinstance(t, torch.Tensor)]
        except StopIteration:
            raise RunError(f"--data: no batch for step {number}: the function's iterator has ended") from None
        return lambda index: self._part(leaves, index)

    def _part(self, leaves: Sequence[torch.Tensor], index: int) -> torch.Tensor:
        if index >= len(leaves):
            raise RunError(f"--data: {self._slots[index].name}: input {index} is missing, {len(leaves)} given")
        tensor, expected = leaves[index], whole_shape(self._slots[index])
        if self._replicas > 1 and expected and tuple(tensor.shape) == (expected[0] * self._replicas, *expected[1:]):
            tensor = tensor[self._replica * expected[0]:(self._replica + 1) * expected[0]]
        if tuple(tensor.shape) != expected:
            wanted = list(expected) if self._replicas == 1 else f"{list(expected)}, {self._replicas} times as many samples for {self._replicas} replicas"
            raise RunError(f"--data: {self._slots[index].name}: expected shape {wanted}, found {list(tensor.shape)}")
        return tensor

    def _synthetic(self, number: int, index: int) -> torch.Tensor:
        slot = self._slots[index]
        dtype = getattr(torch, slot.spec.dtype)
        generator = torch.Generator().manual_seed((((self._seed * 1_000_003 + number) * 4099 + index) * 4099 + self._replica) % (1 << 63))
        if dtype.is_floating_point:
            return torch.randn(whole_shape(slot), generator=generator).to(dtype)
        return torch.randint(self._bound[index], whole_shape(slot), generator=generator).to(dtype)


def _word_limit(program: Program, slot: InputSlot) -> int:
    """A bound for whole numbers that is safe for whatever looks them up: rows of the smallest table, classes of the smallest loss."""
    reached = {slot.ref}
    limit = 0
    views = ("view", "reshape", "alias", "flatten", "expand", "permute", "transpose", "select", "slice", "unsqueeze", "squeeze", "clone", "_to_copy",
             "split", "unbind", "t", "_unsafe_view", "detach", "contiguous")
    for node, call in enumerate(program.calls):
        if call is None or not reached.intersection(call.reads()):
            continue
        kind = call.op.split("::")[-1].split(".")[0]
        if kind in views:
            reached.update(type(slot.ref)(node, i) for i in range(len(call.outputs)))
        bounds = {"embedding": 0, "nll_loss_forward": -1, "nll_loss2d_forward": 1, "index_select": 0, "gather": -1}
        if kind in bounds and call.args and isinstance(call.args[0], type(slot.ref)):
            shape = program.spec(call.args[0]).shape
            size = shape[bounds[kind]]
            limit = min(limit, size) if limit else size
    return limit or 2
