"""Runs a program node by node on real tensors, in any topological order of its graph. A runtime uses :class:`Runner` for its own nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any

import torch

from ..graph import Graph
from .errors import ProgramError
from .operators import describe, resolve
from .program import Call, InputSlot, Program
from .randomness import op_seed, random_device, reseed
from .values import Atom, Ref, Spec, atom_value, dtype_name, map_args, spec_of

Values = MutableMapping[Ref, torch.Tensor]


class Runner:
    """Runs single nodes. ``device`` is where they run (the program may have been captured for another type of device).

    ``strict``: an output that real tensors lay out otherwise than the capture saw is an error, else it is copied and counted.
    ``seed`` and ``step`` decide the random numbers.
    """

    def __init__(self, program: Program, device: torch.device | str | None = None, *, seed: int = 0, step: int = 0, strict: bool = False) -> None:
        self.program = program
        self.device = torch.device(device or program.device)
        self.seed = seed
        self.step = step
        self.strict = strict
        self.laid_out_again = 0
        names = dict.fromkeys(call.op for call in program.calls if call is not None)
        self._functions: dict[str, Callable[..., Any]] = {name: resolve(name) for name in names}
        if self.device.type != program.device:
            self._check_kernels()

    def _check_kernels(self) -> None:
        key = {"cuda": "CUDA", "cpu": "CPU", "meta": "Meta"}.get(self.device.type)
        for name in self._functions:
            if key is not None and not torch._C._dispatch_has_computed_kernel_for_dispatch_key(name.removesuffix(".default"), key):
                raise ProgramError(f"{name} has no kernel on {self.device.type}: the step was captured for {self.program.device}; "
                                   f"capture it with --device {self.device.type}")

    def constant(self, node: int) -> torch.Tensor:
        """A fresh tensor with the value of a constant."""
        constant = self.program.constants[node]
        flat = torch.frombuffer(bytearray(constant.data) or bytearray(8), dtype=getattr(torch, constant.spec.dtype)).to(self.device, copy=True)
        return flat.as_strided(constant.spec.shape, constant.spec.strides, constant.spec.offset)

    def run_node(self, node: int, values: Mapping[Ref, torch.Tensor]) -> list[torch.Tensor | None]:
        """All outputs of a node, extra ones last; ``values`` has what it reads. Constants have none to read; residuals and inputs are given, not run."""
        call = self.program.calls[node]
        if call is None:
            if node not in self.program.constants:
                raise ProgramError(f"node {node} is a residual or an input: its value is given, it is not run")
            return [self.constant(node)]
        function = self._functions[call.op]
        args, kwargs = self._arguments(call, values)
        if describe(function).reshapes:
            args = (torch.ops.aten.alias.default(args[0]), *args[1:])
        if call.random >= 0:
            reseed(op_seed(self.seed, self.step, call.random), random_device(args, kwargs))
        with torch.no_grad():
            outputs = self._laid_out(node, call, flat_outputs(function(*args, **kwargs), len(call.outputs)), values)
        return outputs + [over_storage(values[ref], spec) for ref, spec in call.extras]

    def _arguments(self, call: Call, values: Mapping[Ref, torch.Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        def leaf(value: Any) -> Any:
            if isinstance(value, Ref):
                return values[value]
            return atom_value(value, lambda _: self.device) if isinstance(value, Atom) else value

        return map_args(call.args, leaf), {k: map_args(v, leaf) for k, v in call.kwargs.items()}

    def _laid_out(self, node: int, call: Call, outputs: list[torch.Tensor | None],
                  values: Mapping[Ref, torch.Tensor]) -> list[torch.Tensor | None]:
        """The outputs with the geometry that the capture saw; where the operation lays one out otherwise (fake tensors do not know all), a copy."""
        for index, (expected, found) in enumerate(zip(call.outputs, outputs)):
            if expected is None:
                outputs[index] = None
            elif found is None or found.shape != expected.shape or dtype_name(found.dtype) != expected.dtype:
                raise ProgramError(f"node {node} ({call.op}): output {index} is {None if found is None else spec_of(found)}, captured was {expected}")
            elif found.stride() != expected.strides or found.storage_offset() != expected.offset:
                if self.strict or self._is_view(found, call, values):
                    raise ProgramError(f"node {node} ({call.op}): output {index} is {spec_of(found)}, captured was {expected}")
                outputs[index] = self._copied(found, expected)
        return outputs

    @staticmethod
    def _is_view(tensor: torch.Tensor, call: Call, values: Mapping[Ref, torch.Tensor]) -> bool:
        address = tensor.untyped_storage()._cdata
        return any(values[ref].untyped_storage()._cdata == address for ref in call.reads())

    def _copied(self, tensor: torch.Tensor, spec: Spec) -> torch.Tensor:
        if spec.offset + spec.span > 64 * tensor.numel() + 4096:
            raise ProgramError(f"an output of shape {list(spec.shape)} with strides {list(spec.strides)}: expected a layout without such gaps")
        self.laid_out_again += 1
        whole = torch.empty(spec.offset + spec.span, dtype=tensor.dtype, device=tensor.device)
        return lazily(whole.as_strided(spec.shape, spec.strides, spec.offset), spec).copy_(tensor)


def flat_outputs(result: Any, count: int) -> list[torch.Tensor | None]:
    """The result of a call as a flat list of ``count`` outputs."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (list, tuple)):
        return [t for item in result for t in flat_outputs(item, 1)]
    return [None] * count


def over_storage(tensor: torch.Tensor, spec: Spec) -> torch.Tensor:
    """Another tensor over the storage of ``tensor``. Raises ProgramError where it does not fit into it."""
    if spec.span and (spec.offset + spec.span) * spec.itemsize > tensor.untyped_storage().nbytes():
        raise ProgramError(f"a tensor of shape {list(spec.shape)} with strides {list(spec.strides)} does not fit into its memory")
    base = torch.empty(0, dtype=getattr(torch, spec.dtype), device=tensor.device)
    found: torch.Tensor = base.set_(tensor.untyped_storage(), spec.offset, spec.shape, spec.strides)  # type: ignore[call-overload]
    return lazily(found, spec)


def lazily(tensor: torch.Tensor, spec: Spec) -> torch.Tensor:
    """The tensor conjugated and negated as ``spec`` says, without a copy."""
    if "c" in spec.lazy:
        tensor = torch._conj(tensor)
    return torch._neg_view(tensor) if "n" in spec.lazy else tensor


def reader_counts(program: Program, nodes: Iterable[int]) -> dict[Ref, int]:
    """How many of ``nodes`` read each value: after so many runs it may go."""
    counts: dict[Ref, int] = {}
    for node in nodes:
        call = program.calls[node]
        for ref in call.reads() if call is not None else ():
            counts[ref] = counts.get(ref, 0) + 1
    return counts


def input_values(program: Program, inputs: Sequence[torch.Tensor], device: torch.device | str) -> dict[Ref, torch.Tensor]:
    """Values of the input nodes from the tensors of a whole step, in the order in which the capture saw them; copies, split into micro-batches."""
    found: dict[Ref, torch.Tensor] = {}
    for slot in program.inputs:
        if slot.index >= len(inputs):
            raise ProgramError(f"{slot.name}: input {slot.index} is missing, {len(inputs)} given")
        found[slot.ref] = input_value(slot, inputs[slot.index], device)
    return found


def input_value(slot: InputSlot, tensor: torch.Tensor, device: torch.device | str) -> torch.Tensor:
    """The value of one input node, a copy, from the step's whole input ``slot.index``."""
    if slot.parts > 1:
        size = tensor.shape[0] // slot.parts
        tensor = tensor[slot.part * size:(slot.part + 1) * size]
    if tuple(tensor.shape) != slot.spec.shape or str(tensor.dtype) != f"torch.{slot.spec.dtype}":
        raise ProgramError(f"{slot.name}: expected {slot.spec.dtype}{list(slot.spec.shape)}, found {tensor.dtype}{list(tensor.shape)}")
    return torch.empty_strided(slot.spec.shape, slot.spec.strides, dtype=tensor.dtype, device=device).copy_(tensor)


def replay(program: Program, graph: Graph, state: Mapping[Ref, torch.Tensor], inputs: Sequence[torch.Tensor], *,
           order: Iterable[int] | None = None, runner: Runner | None = None) -> dict[str, torch.Tensor]:
    """Runs the whole program in one process; ``state`` (see :mod:`pardnn.torch_step.state`) is updated in place. Returns the outputs by name.

    ``order``: any topological order of ``graph``, by default that of node ids. Values go as soon as nobody reads them any more.
    """
    runner = runner or Runner(program)
    values: dict[Ref, torch.Tensor] = {**state, **input_values(program, inputs, runner.device)}
    kept = {ref for _, ref in program.outputs} | set(state)
    counts = reader_counts(program, range(graph.num_nodes))
    for node in range(graph.num_nodes) if order is None else order:
        call = program.calls[node]
        if call is None and node not in program.constants:
            continue
        for index, tensor in enumerate(runner.run_node(node, values)):
            if tensor is not None and (counts.get(Ref(node, index), 0) or Ref(node, index) in kept):
                values[Ref(node, index)] = tensor
        for ref in call.reads() if call is not None else ():
            counts[ref] -= 1
            if not counts[ref] and ref not in kept:
                del values[ref]
    return {name: values[ref] for name, ref in program.outputs}
