"""What several tests of the capture need: equal costs, random orders, and a replay beside plain steps."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence

import torch
from torch_step_models import MODELS

from pardnn.costs import Cost, OpCall
from pardnn.graph import Graph
from pardnn.torch_step.capture import Capture, capture_step
from pardnn.torch_step.optimizers import capturable
from pardnn.torch_step.program import Program
from pardnn.torch_step.randomness import seeded_step
from pardnn.torch_step.replay import Runner, replay
from pardnn.torch_step.state import load_state, module_state, named_state, optimizer_state
from pardnn.torch_step.step import Step, split_inputs, train_step


class Flat:
    """Every call takes a microsecond, a view nothing."""

    def cost(self, call: OpCall) -> Cost:
        return Cost(0 if call.is_view else 1000)


def seeded(name: str, scale: int = 1) -> Step:
    """A model of the tests, the same at each call."""
    torch.manual_seed(1)
    return MODELS[name](scale)


def captured(step: Step, **options: object) -> Capture:
    return capture_step(step, Flat(), **options)  # type: ignore[arg-type]


def random_order(graph: Graph, seed: int, keep: Sequence[bool] | None = None, late_first: bool = False) -> list[int]:
    """A random topological order of the graph; ``keep`` says which edges count, ``late_first`` draws among the ready nodes of greatest id only."""
    draw = random.Random(seed)
    after: list[list[int]] = [[] for _ in range(graph.num_nodes)]
    missing = [0] * graph.num_nodes
    for e, (source, target) in enumerate(zip(graph.source.tolist(), graph.target.tolist())):
        if keep is None or keep[e]:
            after[source].append(target)
            missing[target] += 1
    ready = [n for n in range(graph.num_nodes) if not missing[n]]
    order = []
    while ready:
        if late_first:
            ready.sort()
        place = draw.randrange(len(ready) - 2 if late_first and len(ready) > 2 else 0, len(ready))
        ready[place], ready[-1] = ready[-1], ready[place]
        node = ready.pop()
        order.append(node)
        for target in after[node]:
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    assert len(order) == graph.num_nodes
    return order


class Plain:
    """Plain eager steps of a copy of a step's module, with the captured form of its optimizer and seeds."""

    def __init__(self, step: Step, parts: int = 1) -> None:
        self.step = copy.copy(step)
        self.step.module = copy.deepcopy(step.module)
        self.optimizer = self.step.optimizer(self.step.module.parameters())
        self.parts = parts

    def run(self, number: int, seed: int = 5) -> dict[str, torch.Tensor]:
        with capturable([self.optimizer]), seeded_step(seed, number):
            return train_step(self.step, self.optimizer, split_inputs(self.step.inputs, self.parts))

    def state(self) -> dict[str, torch.Tensor]:
        """All tensors by name."""
        found = {k: v.clone() for k, v in module_state(self.step.module).items()}
        for number, values in self.optimizer.state_dict()["state"].items():
            found.update({f"{number}/{k}": v.clone() for k, v in values.items() if isinstance(v, torch.Tensor)})
        return found


class Replayed:
    """The program's steps, from the same state."""

    def __init__(self, program: Program, graph: Graph, plain: Plain, strict: bool = False) -> None:
        self.program, self.graph, self.strict = program, graph, strict
        self.inputs = [t for t in plain.step.inputs]
        self.values = load_state(program, module_state(plain.step.module), [plain.optimizer.state_dict()])

    def run(self, number: int, order: Sequence[int] | None = None, seed: int = 5) -> dict[str, torch.Tensor]:
        runner = Runner(self.program, seed=seed, step=number, strict=self.strict)
        return replay(self.program, self.graph, self.values, self.inputs, order=order, runner=runner)

    def state(self) -> dict[str, torch.Tensor]:
        found = dict(named_state(self.program, self.values))
        for number, values in optimizer_state(self.program, self.values).items():
            found.update({f"{number}/{k}": v for k, v in values.items()})
        return found


def differing(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> list[str]:
    """Names of tensors that are not equal to the last bit (a NaN equals itself), or are in one of the two only."""
    return sorted(k for k in a.keys() | b.keys() if k not in a or k not in b or a[k].dtype != b[k].dtype or a[k].shape != b[k].shape
                  or not torch.equal(a[k].nan_to_num(12345.0), b[k].nan_to_num(12345.0)))
