"""Captures a training step: fake tensors, a first step that makes the optimizer's state, then one that is recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import isfinite
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..capture_common import Costing
from ..costs import CostModel, Coverage, cost_model
from ..graph import Graph
from ..graph_file import write_graph
from .build import Recording, build
from .declare import check_inputs, check_modules, check_optimizers, declare_state, name_others, parameters_of, unknown_starts, updated_without_gradient
from .errors import CaptureError, user_errors
from .fake import Faker, faked, mode_of
from .initial import Initial
from .names import Names
from .optimizers import capturable
from .program import DATASET, Binding, InputSlot, Program, dump_program, fingerprint
from .randomness import RandomCalls, numbered
from .rebound import Held
from .recorder import Recorder
from .repeat import Repeat
from .step import Step, batch_size, input_names, split_inputs, splits, train_step
from .values import Ref, spec_of

_Phase = Callable[[str, str], None]
# Runs the step on the tensors given and tells its phases; without anybody to tell, as much of it as makes the optimizer's state.
_Run = Callable[[Sequence[torch.Tensor], _Phase | None], Any]


@dataclass
class Capture:
    """A captured step: graph, program, where its costs come from, calls that nothing needed by operation, and what the user should know."""

    graph: Graph
    program: Program
    coverage: Coverage
    dead: Counter[str]
    warnings: list[str]

    def write(self, path: Any) -> None:
        """Writes graph and program into one graph file, atomically."""
        write_graph(path, self.graph, extra={DATASET: dump_program(self.program, self.graph)})


def capture_step(step: Step, costs: CostModel | str, *, micro_batches: int = 1, device: str = "cpu", name: str = "",
                 unknown_ns: int | None = None) -> Capture:
    """Captures the usual step (:func:`pardnn.torch_step.step.train_step`) of ``step``. Nothing is run on data; ``step`` is as before.

    ``costs``: a cost model, or what :func:`pardnn.costs.cost_model` makes one of (``roofline:V100``). ``unknown_ns``: time in ns of calls whose
    time it gives as negative or as no number; without it such a call is refused.
    """
    step.check()
    optimizer = step.optimizer(step.module.parameters())
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise CaptureError(f"optimizer: its function returns {type(optimizer).__name__}, expected a torch.optim.Optimizer")
    leaves, tree = pytree.tree_flatten(tuple(step.inputs))
    tensors = [i for i, t in enumerate(leaves) if isinstance(t, torch.Tensor)]
    batch = batch_size(step.inputs)
    split_inputs(step.inputs, micro_batches)  # says what is wrong with the batch
    labels = input_names(step.loss, step.inputs, skip=1)
    slots = [(i, part, micro_batches) if micro_batches > 1 and splits(leaves[i], batch) else (i, 0, 1)
             for i in tensors for part in range(micro_batches if splits(leaves[i], batch) else 1)]

    def run(given: Sequence[torch.Tensor], phase: _Phase | None) -> Any:
        found = {(i, part): t for (i, part, _), t in zip(slots, given)}
        parts = [pytree.tree_unflatten([found.get((i, part), found.get((i, 0), leaf)) for i, leaf in enumerate(leaves)], tree)
                 for part in range(micro_batches)]
        return train_step(step, optimizer, parts, phase) if phase else train_step(step, optimizer, parts[:1])

    examples = [_example(leaves[i], part, parts) for i, part, parts in slots]
    names = [f"input/mb{part}.{labels[i]}" if parts > 1 else f"input/{labels[i]}" for i, part, parts in slots]
    found = _capture(run, examples, names, [(tensors.index(i), p, n) for i, p, n in slots], {"": step.module}, [optimizer],
                     _costing(costs, unknown_ns), device, name or step.name or type(step.module).__name__)
    found.graph.samples_per_step = step.batch()
    found.program.micro_batches = micro_batches
    return found


def capture(step_fn: Callable[..., Any], example_inputs: Sequence[Any], *, modules: Any, optimizers: Any, costs: CostModel | str,
            device: str = "cpu", samples: int | None = None, name: str = "", data: bool = False, unknown_ns: int | None = None) -> Capture:
    """Captures ``step_fn(*example_inputs)``, a whole training step of the user's own. Nothing is run on data.

    ``modules`` and ``optimizers``: one, a list, or a dict by name of all that the step reads or writes besides its inputs; other tensors that it
    reads become constants. What it returns (nested) are the program's outputs. Raises CaptureError where the step depends on data.
    ``data``: the step is run on the real tensors, once and with its effects, and recorded; the optimizers' state has to be there already.
    ``unknown_ns``: as for :func:`capture_step`.
    """
    if samples is not None and samples < 1:
        raise CaptureError(f"samples: expected a positive number, found {samples}")
    leaves, tree = pytree.tree_flatten(tuple(example_inputs))
    tensors = [i for i, t in enumerate(leaves) if isinstance(t, torch.Tensor)]
    labels = input_names(step_fn, example_inputs)

    def run(given: Sequence[torch.Tensor], phase: _Phase | None) -> Any:
        values = list(leaves)
        for i, tensor in zip(tensors, given):
            values[i] = tensor
        return step_fn(*pytree.tree_unflatten(values, tree))

    found = _capture(run, [leaves[i] for i in tensors], [f"input/{labels[i]}" for i in tensors], [(n, 0, 1) for n in range(len(tensors))],
                     _named(modules, "module"), list(_named(optimizers, "optimizer").values()), _costing(costs, unknown_ns), device,
                     name or getattr(step_fn, "__name__", "step"), data)
    found.graph.samples_per_step = samples if samples is not None else max(1, batch_size(example_inputs))
    return found


def _costing(costs: CostModel | str, unknown_ns: int | None) -> Costing:
    return Costing(cost_model(costs) if isinstance(costs, str) else costs, unknown_ns)


def _named(items: Any, kind: str) -> dict[str, Any]:
    if isinstance(items, Mapping):
        return dict(items)
    if isinstance(items, (list, tuple)):
        return {"" if len(items) == 1 else f"{kind}{i}": item for i, item in enumerate(items)}
    return {"": items}


def _example(tensor: torch.Tensor, part: int, parts: int) -> torch.Tensor:
    size = tensor.shape[0] // parts if parts > 1 else 0
    return tensor[part * size:(part + 1) * size] if parts > 1 else tensor


def _capture(run: _Run, examples: Sequence[torch.Tensor], input_labels: Sequence[str],
             slots: Sequence[tuple[int, int, int]], modules: dict[str, Any], optimizers: list[torch.optim.Optimizer], costing: Costing,
             device: str, name: str, data: bool = False) -> Capture:
    check_modules(modules)
    check_optimizers(modules, optimizers)
    check_inputs(input_labels, examples)
    if device == "cuda" and not torch.backends.cuda.is_built():
        raise CaptureError(f"device cuda: this PyTorch ({torch.__version__}) is built without CUDA; its operations cannot be recorded here")
    mode = mode_of(list(modules.values()))
    faker = Faker(mode, device)
    with ExitStack() as stack:
        stack.enter_context(capturable(optimizers))
        stack.enter_context(torch.enable_grad())
        stack.enter_context(torch.compiler.set_stance("force_eager"))
        inputs = list(examples)
        if not data:
            stack.enter_context(faked(list(modules.values()), optimizers, faker))
            stack.enter_context(mode)
            inputs = [torch.empty_strided(t.shape, _strides(t), dtype=t.dtype, device=device).requires_grad_(t.requires_grad) for t in examples]
        initial = Initial()
        fresh = [not data and not optimizer.state for optimizer in optimizers]
        if not data:
            with initial, numbered(RandomCalls()), user_errors():
                run(inputs, None)
            inputs = [t.detach().requires_grad_(t.requires_grad) for t in inputs]  # each step's inputs are new: without gradients
        names = Names(modules)
        recorder = Recorder(names)
        bindings = declare_state(recorder, names, modules, optimizers, initial)
        recorder.tensors.warnings += unknown_starts(bindings, optimizers, fresh)
        name_others(recorder, modules, faker)
        given = [InputSlot(label, recorder.tensors.declare(t, label, "Input", residual=False), index, part, parts, spec_of(t))
                 for label, t, (index, part, parts) in zip(input_labels, inputs, slots)]
        returned = _record(run, inputs, recorder, names, modules, optimizers)
        outputs = _outputs(returned, recorder)
        del returned
        if not data:
            _check_repeat(run, inputs, recorder)
    unmarked = updated_without_gradient(recorder, bindings)
    if unmarked:
        recorder.tensors.warnings.append(f"{len(unmarked)} parameters are updated without a gradient of their own by backward() ({unmarked[0]}, ...): "
                                 "replicas have nothing to reduce for them")
    bindings += [Binding(label, ref, "closure", recorder.records[ref.node].spec(ref.output)) for label, ref in recorder.tensors.closures]
    bindings += [Binding(label, ref, "gradient", recorder.records[ref.node].spec(ref.output), initial=0.0) for label, ref in recorder.tensors.found_gradients]
    recording = Recording(recorder.records, recorder.ties, recorder.gradients, bindings, given, outputs)
    graph, program, dead = build(recording, costing, name=name, producer=f"pardnn capture_torch, PyTorch {torch.__version__}")
    program.device, program.torch_version, program.graph = device, torch.__version__, fingerprint(graph)
    program.settings = {"foreach": False, "fused": False, "capturable": True, "identical_views_left_out": recorder.elided,
                        "constant_rates": [{k: v for k, v in group.items() if k in ("lr", "weight_decay") and isinstance(v, (int, float)) and isfinite(v)}
                                           for o in optimizers for group in o.param_groups]}
    return Capture(graph, program, costing.coverage, dead, recorder.tensors.warnings)


def _strides(tensor: torch.Tensor) -> tuple[int, ...]:
    """Strides of an input: those of the example, dense ones where its elements share memory (a later batch need not be expanded)."""
    shared = any(size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor.stride()))
    return torch.empty(tensor.shape, device="meta").stride() if shared else tensor.stride()


def _record(run: _Run, inputs: Sequence[torch.Tensor], recorder: Recorder, names: Names,
            modules: dict[str, Any], optimizers: Sequence[torch.optim.Optimizer]) -> Any:
    def phase(now: str, part: str) -> None:
        names.phase, names.part = now, part

    with ExitStack() as stack:
        for label, parameter in parameters_of(modules):
            if parameter.requires_grad and parameter.is_leaf and label == names.variables[id(parameter)]:
                stack.callback(parameter.register_post_accumulate_grad_hook(_gradient_hook(recorder, label)).remove)
        for optimizer in optimizers:
            for handle in _phase_hooks(optimizer, names):
                stack.callback(handle.remove)
        stack.enter_context(names.hooked())
        stack.enter_context(numbered(recorder.random_calls))
        held = Held(modules, optimizers)
        stack.enter_context(recorder)
        with user_errors():
            returned = run(inputs, phase)
            calls = len(recorder.signatures)
            held.write_back(recorder)
            del recorder.signatures[calls:]  # not the step's own
        return returned


def _check_repeat(run: _Run, inputs: Sequence[torch.Tensor], recorder: Recorder) -> None:
    """Runs the step once more on fake tensors; a warning where it is another than the recorded one."""
    repeat = Repeat(recorder.signatures)
    again = [t.detach().requires_grad_(t.requires_grad) for t in inputs]
    with repeat, numbered(RandomCalls()), user_errors():
        run(again, lambda phase, part: None)
    difference = repeat.verdict()
    if difference:
        recorder.tensors.warnings.append(f"{difference}: the step depends on Python state that changes from step to step (a counter, a schedule, a list that "
                                 "grows); the program repeats the step as it was recorded. Keep such state in tensors (lr=torch.tensor(...), buffers)")


def _phase_hooks(optimizer: torch.optim.Optimizer, names: Names) -> list[Any]:
    """While an optimizer steps, the phase is ``opt``."""
    before: list[str] = []

    def enter(*_: Any) -> None:
        before.append(names.phase)
        names.phase = "opt"

    def leave(*_: Any) -> None:
        names.phase = before.pop()

    return [optimizer.register_step_pre_hook(enter), optimizer.register_step_post_hook(leave)]


def _gradient_hook(recorder: Recorder, label: str) -> Callable[[torch.Tensor], None]:
    def hook(parameter: torch.Tensor) -> None:
        if parameter.grad is not None:
            recorder.note_gradient(parameter.grad, recorder.tensors.value(parameter).node, label)

    return hook


def _outputs(returned: Any, recorder: Recorder) -> list[tuple[str, Ref]]:
    leaves = pytree.tree_flatten_with_path(returned)[0]
    label = lambda path: ".".join(str(getattr(k, "key", getattr(k, "idx", k))) for k in path) or "output"  # noqa: E731
    return [(label(path), recorder.tensors.value(t)) for path, t in leaves if isinstance(t, torch.Tensor)]
