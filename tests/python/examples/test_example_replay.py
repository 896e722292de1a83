"""The examples as programs: node by node in random orders they do what the eager step does, to the last bit; in eager order they hold what it holds."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pardnn.graph import Graph  # noqa: E402
from pardnn.graph_file import read_graph  # noqa: E402
from pardnn.torch_step.meter import LiveBytes  # noqa: E402
from pardnn.torch_step.optimizers import capturable  # noqa: E402
from pardnn.torch_step.program import load_program  # noqa: E402
from pardnn.torch_step.randomness import seeded_step  # noqa: E402
from pardnn.torch_step.replay import Runner, replay  # noqa: E402
from pardnn.torch_step.state import load_state, module_state, named_state, optimizer_state  # noqa: E402
from pardnn.torch_step.step import Step, split_inputs, train_step  # noqa: E402

StepOf = Callable[[str], Any]
GraphOf = Callable[[str, int], Path]
NAMES = ["word_rnn", "char_crn", "wide_resnet", "transformer", "e3d_lstm", "gpt2", "llama", "moe", "dlrm"]
CASES = [(name, 2 if name in ("word_rnn", "wide_resnet", "gpt2", "moe") else 1) for name in NAMES]


def random_order(graph: Graph, seed: int) -> list[int]:
    """A topological order, the next node drawn among all that are ready."""
    draw = random.Random(seed)
    after: list[list[int]] = [[] for _ in range(graph.num_nodes)]
    for source, target in zip(graph.source.tolist(), graph.target.tolist()):
        after[source].append(target)
    missing = np.bincount(graph.target, minlength=graph.num_nodes).tolist()
    ready = [n for n in range(graph.num_nodes) if not missing[n]]
    order = []
    while ready:
        place = draw.randrange(len(ready))
        ready[place], ready[-1] = ready[-1], ready[place]
        order.append(ready.pop())
        for target in after[order[-1]]:
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    return order


@pytest.mark.parametrize(("name", "parts"), CASES)
def test_random_orders_equal_the_eager_step(small_step: StepOf, small_graph: GraphOf, name: str, parts: int) -> None:
    step = small_step(name)
    graph, program = load_program(small_graph(name, parts))
    optimizer = step.optimizer(step.module.parameters())
    values = load_state(program, module_state(step.module), [optimizer.state_dict()])
    first = {key: tensor.clone() for key, tensor in module_state(step.module).items()}
    for number in range(2):
        with capturable([optimizer]), seeded_step(7, number):
            expected = train_step(step, optimizer, split_inputs(step.inputs, parts))
        found = replay(program, graph, values, step.inputs, order=random_order(graph, number), runner=Runner(program, seed=7, step=number))
        assert torch.equal(expected["loss"], found["loss"])
    now = module_state(step.module)
    replayed = named_state(program, values)
    assert replayed.keys() == now.keys()
    assert [key for key in now if not torch.equal(now[key], replayed[key])] == []
    assert any(not torch.equal(now[key], first[key]) for key in now), "the steps change something"
    state = optimizer_state(program, values)
    for number, tensors in optimizer.state_dict()["state"].items():
        for key, tensor in tensors.items():
            assert tensor is None or torch.equal(tensor, state[number][key]), (number, key)


def eager_peak(step: Step, parts: int) -> int:
    """Bytes of live tensors at the peak of an eager step, parameters, optimizer state and inputs counted."""
    optimizer = step.optimizer(step.module.parameters())
    inputs = split_inputs(step.inputs, parts)
    with capturable([optimizer]):
        train_step(step, optimizer, inputs)
        optimizer.zero_grad()
        state = [t for tensors in optimizer.state.values() for t in tensors.values() if isinstance(t, torch.Tensor)]
        with LiveBytes([*step.module.parameters(), *step.module.buffers(), *state, *step.inputs]) as meter:
            train_step(step, optimizer, inputs)
    return meter.peak


def modelled_peak(program: str, graph: Path, placement: Path) -> int:
    """The peak of one device that runs all nodes in the order of their ids, which is that of the eager step."""
    nodes = read_graph(graph).num_nodes
    with h5py.File(placement, "w") as file:
        file.attrs.update({"format": "pardnn-placement", "version": 1, "devices": 1, "policy": "priority"})
        file["device"], file["order"], file["start_ns"], file["priority"] = np.zeros(nodes, np.int32), np.arange(nodes), np.arange(nodes), -np.arange(nodes)
    told = subprocess.run([program, "evaluate", graph, placement, "--devices", "1", "--policy", "priority", "--json", "-"], capture_output=True, text=True,
                          check=True)
    return int(json.loads(told.stdout)["devices"][0]["peak_bytes"])


@pytest.mark.parametrize(("name", "parts"), CASES)
def test_peak_in_eager_order_is_that_of_the_framework(small_step: StepOf, small_graph: GraphOf, pardnn_binary: str, name: str, parts: int,
                                                      tmp_path: Path) -> None:
    """10 % is asked for, never below by more than 5 %. In the same order 2 % hold, to both sides.

    Below by what the graph leaves out because nobody reads it, and by tensors that eager autograd holds a little longer than until their last
    reader; above by outputs of one call that are one buffer here.
    """
    found = modelled_peak(pardnn_binary, small_graph(name, parts), tmp_path / "p.h5")
    assert 0.98 <= found / eager_peak(small_step(name), parts) <= 1.02


@pytest.mark.parametrize(("name", "parts"), CASES)
def test_placed_on_two_devices(small_graph: GraphOf, pardnn_binary: str, name: str, parts: int, tmp_path: Path) -> None:
    graph = str(small_graph(name, parts))
    for command in (["validate", graph], ["partition", graph, "--devices", "2", "--preset", "fast", "-o", "p.h5"]):
        subprocess.run([pardnn_binary, *command], cwd=tmp_path, check=True, capture_output=True)
    with h5py.File(tmp_path / "p.h5") as file:
        assert file.attrs["feasible"] == 1
