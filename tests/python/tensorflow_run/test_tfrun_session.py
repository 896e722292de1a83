"""A placed step in a session: the same numbers as without a placement, each operation where it is placed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tfrun_models import traced, trained  # noqa: E402

from pardnn import write_graph  # noqa: E402
from pardnn.capture_tensorflow import capture_function  # noqa: E402
from pardnn.place_tensorflow import place_function, place_graph_def, placed_session, set_variables, variable_values  # noqa: E402
from pardnn.runtime.placement import read_placement  # noqa: E402

STEPS = 20
MODELS = ("mlp", "rnn", "convnet", "looped", "functional")
BODIES = ("While", "StatelessWhile", "If", "StatelessIf")  # a session runs what is in them, under their names
MOVED = ("Enter", "Exit", "NextIteration", "Switch")  # TensorFlow runs these beside their neighbours


def placed_step(case: Any, devices: int) -> Any:
    placement = read_placement(case.placement(devices), case.graph)
    assert len(set(placement.device.tolist())) == devices
    return place_graph_def(case.step.graph_def, case.graph, placement)


@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize("model", MODELS)
def test_losses_and_variables_equal_those_without_a_placement(model: str, devices: int, case: Callable[[str], Any]) -> None:
    made = case(model)
    with placed_session(placed_step(made, devices), devices, threads=1) as session:
        losses = trained(session, made.step, STEPS)
        variables = variable_values(session)
    assert losses == made.losses and len(set(losses)) == STEPS
    assert variables.keys() == made.variables.keys()
    different = [name for name, value in variables.items() if value.tobytes() != made.variables[name].tobytes()]
    assert not different


@pytest.mark.parametrize("model", MODELS)
def test_operations_run_where_they_are_placed(model: str, case: Callable[[str], Any]) -> None:
    """By the lanes of the profile and by the graphs that TensorFlow gave to the devices; only fed placeholders are not there."""
    made = case(model)
    definition = placed_step(made, 4)
    nodes = {node.name: node for node in definition.node}
    with placed_session(definition, threads=1) as session:
        session.run(made.step.init)
        metadata = traced(session, made.step)
    lanes = {(stats.node_name, lane.device) for lane in metadata.step_stats.dev_stats for stats in lane.node_stats if stats.node_name in nodes}
    parts = {(node.name, node.device) for part in metadata.partition_graphs for node in part.node if node.name in nodes}
    for ran in (lanes, parts):
        elsewhere = [(name, device) for name, device in ran if not device.endswith(nodes[name].device) and nodes[name].op not in MOVED]
        assert not elsewhere
        missing = {name for name in made.graph.names if nodes[name].op not in ("Placeholder", *MOVED, *BODIES)} - {name for name, _ in ran}
        # TensorFlow leaves out constants whose readers are all elsewhere: how many depends on the placement, and so on measured times.
        assert all(nodes[name].op == "Const" for name in missing) and len(missing) < 0.1 * len(made.graph.names)
        assert len({device for _, device in ran}) == 4


def test_bodies_run_where_their_loop_or_choice_is_placed(case: Callable[[str], Any]) -> None:
    """While and If are one node each for the placement; all that is computed in them is on its device."""
    made = case("functional")
    definition = placed_step(made, 4)
    device = {node.name: node.device for node in definition.node if node.op in BODIES}
    with placed_session(definition, threads=1) as session:
        session.run(made.step.init)
        metadata = traced(session, made.step)
    found = [(node, re.match(r"(.+)/(body|cond|then|else)/_\d+/[^_]", node.name)) for part in metadata.partition_graphs for node in part.node]
    inner = [(node, match.group(1)) for node, match in found if match and match.group(1) in device and node.op not in ("Identity", "_Send", "_HostSend")]
    assert {owner for _, owner in inner} == set(device) and any("MatMul" in node.op for node, _ in inner)
    elsewhere = [(node.name, node.device) for node, owner in inner if not node.device.endswith(device[owner])]
    assert not elsewhere


def test_a_function_s_step_equals_the_function(partition: Callable[[Path, int], Path], tmp_path: Path) -> None:
    """Variables of TensorFlow 2 go into the session and come out as the function itself would have left them."""
    variables = [tf.Variable(tf.random.stateless_normal(shape, [i, 2]), name=f"v{i}") for i, shape in enumerate([(16, 16), (16,), (16, 16), (16,)])]

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            h = tf.tanh(tf.matmul(x, variables[0]) + variables[1])
            loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(h, variables[2]) + variables[3]) - 0.5))
        for variable, gradient in zip(variables, tape.gradient(loss, variables)):
            variable.assign_sub(0.1 * gradient)
        return loss

    data = [np.random.RandomState(i).rand(8, 16).astype(np.float32) for i in range(STEPS)]
    spec = tf.TensorSpec([8, 16], tf.float32, name="x")
    graph = capture_function(step, spec)
    write_graph(tmp_path / "g.h5", graph)
    made = place_function(step, [spec], graph, read_placement(partition(tmp_path, 2), graph))
    assert {node.device for node in made.graph_def.node} == {"/device:CPU:0", "/device:CPU:1"}
    start = {v.name.split(":")[0]: v.numpy() for v in variables}
    with placed_session(made.graph_def, 2, threads=1) as session:
        set_variables(session, start)
        losses = [session.run([*made.fetches, *made.outputs], {"x:0": x})[-1] for x in data]
        after = variable_values(session)
    with without_grappler():
        expected = [step(x).numpy() for x in data]
    assert losses == expected
    assert after.keys() == start.keys() and all(after[v.name.split(":")[0]].tobytes() == v.numpy().tobytes() for v in variables)


@contextmanager
def without_grappler() -> Iterator[None]:
    before = tf.config.optimizer.get_experimental_options().get("disable_meta_optimizer", False)
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    try:
        yield
    finally:
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": before})


def test_variables_go_in_and_out(case: Callable[[str], Any]) -> None:
    """By reference and by resource: a session that starts from another's variables gives its next loss."""
    for model in ("mlp", "rnn"):
        made = case(model)
        definition = placed_step(made, 2)
        with placed_session(definition, threads=1) as session:
            trained(session, made.step, 3)
            saved = variable_values(session)
        with placed_session(definition, threads=1) as session:
            set_variables(session, saved)
            assert all(value.tobytes() == saved[name].tobytes() for name, value in variable_values(session).items())
            if model == "rnn":  # dropout's generators are no variables
                assert session.run(made.step.fetches, made.step.feeds(3))[-1].tobytes() == made.losses[3]


def test_what_no_step_runs_runs_too(case: Callable[[str], Any], tmp_path: Path) -> None:
    """The saver, the restorer and an evaluation, which the capture left out."""
    made = case("mlp")
    checkpoint = {"save/Const:0": str(tmp_path / "checkpoint")}
    with placed_session(placed_step(made, 4), threads=1) as session:
        trained(session, made.step, 3)
        saved = variable_values(session)
        assert session.run("save/control_dependency:0", checkpoint).decode() == str(tmp_path / "checkpoint")
        assert 0 <= session.run("accuracy:0", made.step.feeds(0)) <= 1
        session.run(made.step.fetches, made.step.feeds(3))
        assert any(value.tobytes() != saved[name].tobytes() for name, value in variable_values(session).items())
        session.run("save/restore_all", checkpoint)
        assert all(value.tobytes() == saved[name].tobytes() for name, value in variable_values(session).items())
