"""Concrete functions: calls laid flat, captured variables, the user's line where tracing stops."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
tf = pytest.importorskip("tensorflow")

from pardnn import Graph, Kind, write_graph  # noqa: E402
from pardnn.capture_common import CaptureError, Costing  # noqa: E402
from pardnn.capture_tensorflow import capture_function, function_with_report, main  # noqa: E402
from pardnn.costs import cost_model  # noqa: E402


def costing() -> Costing:
    return Costing(cost_model("roofline:V100"))


def by_op(graph: Graph, op: str) -> list[int]:
    return [n for n in range(graph.num_nodes) if graph.op_name(n) == op]


@pytest.fixture(scope="module")
def train_step() -> Any:
    """Two dense layers by nested functions, and an update written by hand."""
    weights = [tf.Variable(tf.zeros(shape), name=name) for name, shape in (("in", (16, 32)), ("out", (32, 4)))]
    scale = tf.constant([[2.0] * 32] * 8)  # large enough not to become a Const

    @tf.function
    def hidden(x: Any) -> Any:
        return tf.nn.relu(tf.matmul(x, weights[0]) * scale)

    @tf.function
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(hidden(x), weights[1]) - y))
        for w, g in zip(weights, tape.gradient(loss, weights)):
            w.assign_sub(0.1 * g)
        return loss

    step.weights = weights
    return step


ARGS = (tf.TensorSpec([8, 16]), tf.TensorSpec([8, 4]))


def test_variables_keep_their_names_and_sizes(train_step: Any) -> None:
    graph = capture_function(train_step, *ARGS)
    assert {graph.names[n]: int(graph.mem[n]) for n in by_op(graph, "VarHandleOp")} == {"in": 16 * 32 * 4, "out": 32 * 4 * 4}
    assert all(graph.kind[n] == Kind.RESIDUAL for n in by_op(graph, "VarHandleOp"))


def test_captured_constants_live_for_the_whole_run(train_step: Any) -> None:
    graph = capture_function(train_step, *ARGS)
    held = [n for n in range(graph.num_nodes) if graph.kind[n] == Kind.RESIDUAL and graph.mem[n] == 8 * 32 * 4 and graph.op_name(n) == "Placeholder"]
    assert len(held) == 1


def test_no_call_is_left_and_products_are_those_of_the_step(train_step: Any) -> None:
    counted = costing()
    graph, report = function_with_report(train_step, ARGS, costing=counted)
    assert not by_op(graph, "PartitionedCall") and not by_op(graph, "StatefulPartitionedCall")
    assert report.of("calls of functions inlined") >= 2
    # Forward twice, gradients of both weights, and of the hidden layer; nobody asks for that of the input.
    assert counted.coverage.flops == 2 * 8 * (2 * 16 * 32 + 3 * 32 * 4)


def test_updates_are_references_behind_all_users_of_the_old_value(train_step: Any) -> None:
    graph = capture_function(train_step, *ARGS)
    updates = by_op(graph, "AssignSubVariableOp")
    assert len(updates) == 2 and all(graph.kind[n] == Kind.REFERENCE for n in updates)
    position = {int(n): i for i, n in enumerate(graph.topological_order())}
    # The hidden layer's gradient reads 'out' after the forward pass; its update has an edge from that product.
    users = [n for n in by_op(graph, "MatMul") if graph.names.index("out") in roots_read(graph, n)]
    update = next(n for n in updates if graph.names.index("out") in graph.source[graph.target == n].tolist())
    assert len(users) == 2
    for user in users:
        assert position[user] < position[update]
        assert user in graph.source[graph.target == update].tolist()


def roots_read(graph: Graph, node: int) -> set[int]:
    roots = set()
    for source in graph.source[graph.target == node].tolist():
        while graph.alias[source] >= 0:
            source = int(graph.alias[source])
        roots.add(source)
    return roots


def test_samples_are_the_leading_dimension(train_step: Any) -> None:
    assert capture_function(train_step, *ARGS).samples_per_step == 8
    assert capture_function(train_step, *ARGS, samples=3).samples_per_step == 3


def test_a_value_that_is_used_after_its_update_is_a_copy() -> None:
    w = tf.Variable(tf.zeros([64]), name="w")

    @tf.function
    def step() -> Any:
        old = w.read_value()
        new = w.assign_add(tf.ones([64])).read_value()
        return old * new

    graph, report = function_with_report(step, (), costing=costing())
    assert report.of("reads of variables that keep a copy, as the value is used after an update") == 1
    copies = [n for n in by_op(graph, "ReadVariableOp") if graph.alias[n] < 0]
    assert [int(graph.mem[n]) for n in copies] == [64 * 4]


def test_tables_and_random_states_share_a_device_with_their_users(pardnn_binary: str, tmp_path: Path) -> None:
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1.0, 2.0]), 0.0)
    numbers = tf.random.Generator.from_seed(1)

    @tf.function
    def step(words: Any) -> Any:
        return table.lookup(words) * numbers.normal([4]) + numbers.normal([4])

    graph = capture_function(step, tf.TensorSpec([4], tf.string))
    lookup, draws = by_op(graph, "LookupTableFindV2")[0], by_op(graph, "RngReadAndSkip")
    assert graph.mem[lookup] == 16
    handle = next(int(s) for s in graph.source[graph.target == lookup] if graph.names[int(s)].endswith("table_handle"))
    assert graph.colocation[handle] == graph.colocation[lookup] >= 0
    assert len(draws) == 2 and len({int(graph.colocation[n]) for n in draws}) == 1
    assert all(graph.kind[n] == Kind.NORMAL and graph.mem[n] > 0 for n in draws)
    # The second draw waits for the first: both change one state.
    assert draws[0] in graph.source[graph.target == draws[1]].tolist()
    write_graph(tmp_path / "g.h5", graph)
    subprocess.run([pardnn_binary, "validate", str(tmp_path / "g.h5")], check=True, capture_output=True)


def test_a_choice_takes_its_dearest_branch() -> None:
    w = tf.Variable(tf.zeros([32, 32]), name="w")

    @tf.function
    def step(x: Any) -> Any:
        return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.matmul(tf.matmul(x, w), w), lambda: x)

    counted = costing()
    _, report = function_with_report(step, (tf.TensorSpec([8, 32]),), costing=counted)
    assert counted.coverage.flops == 2 * 2 * 8 * 32 * 32
    assert report.of("If and Case nodes taken as their dearest branch") == 1


def test_while_is_one_node_with_the_work_of_its_iterations() -> None:
    w = tf.Variable(tf.zeros([32, 32]), name="w")

    @tf.function
    def step(x: Any) -> Any:
        return tf.while_loop(lambda i, h: i < 5, lambda i, h: (i + 1, tf.matmul(h, w)), [tf.constant(0), x])[1]

    counted = costing()
    graph, report = function_with_report(step, (tf.TensorSpec([8, 32]),), costing=counted, iterations=5)
    loops = [n for n in range(graph.num_nodes) if "While" in graph.op_name(n)]
    assert len(loops) == 1 and graph.comp[loops[0]] > 0
    assert counted.coverage.flops == 5 * 2 * 8 * 32 * 32
    assert report.of("While loops taken as one node of 5 iterations") == 1


def test_a_loop_that_is_differentiated_holds_what_its_backward_pass_needs() -> None:
    w = tf.Variable(tf.zeros([32, 32]), name="w")

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.while_loop(lambda i, h: i < 5, lambda i, h: (i + 1, tf.matmul(h, w)), [tf.constant(0), x])[1])
        w.assign_sub(tape.gradient(loss, w))
        return loss

    graph, report = function_with_report(step, (tf.TensorSpec([8, 32]),), costing=costing(), iterations=5, unknown_dim=32)
    forward = next(n for n in range(graph.num_nodes) if "While" in graph.op_name(n))
    # The inputs of all products; w itself may be kept with them.
    assert graph.mem[forward] >= 5 * 8 * 32 * 4
    assert report.of("lists put out by loops, which hold what the loops push") > 0
    assert {graph.names[int(v)] for v in graph.gradient_of if v >= 0} == {"w"}


def test_gradients_are_found_behind_clipping_and_momenta() -> None:
    w, m = tf.Variable(tf.zeros([16, 4]), name="w"), tf.Variable(tf.zeros([16, 4]), name="m")

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.matmul(x, w) ** 2)
        m.assign(0.9 * m + tf.clip_by_norm(tape.gradient(loss, w), 1.0))
        w.assign_sub(0.1 * m)
        return loss

    graph = capture_function(step, tf.TensorSpec([8, 16]))
    marked = [n for n in range(graph.num_nodes) if graph.gradient_of[n] >= 0]
    assert [(graph.op_name(n), graph.names[int(graph.gradient_of[n])]) for n in marked] == [("MatMul", "w")]


def test_a_keras_model_with_its_optimizer(pardnn_binary: str, tmp_path: Path) -> None:
    """Convolution, normalisation, dropout, Adam with clipped gradients: sizes by hand, and all trainable variables' gradients."""
    keras = pytest.importorskip("keras")
    layers = keras.layers
    model = keras.Sequential([keras.Input((16, 16, 3)), layers.Conv2D(8, 3, strides=2, padding="same"), layers.BatchNormalization(), layers.ReLU(),
                              layers.Dropout(0.1), layers.Flatten(), layers.Dense(10)])
    optimizer = keras.optimizers.Adam(clipnorm=1.0)
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    counted = costing()
    graph, _ = function_with_report(step, (tf.TensorSpec([4, 16, 16, 3]), tf.TensorSpec([4], tf.int32)), costing=counted)
    parameters = (3 * 3 * 3 * 8 + 8) + 2 * 8 + (8 * 8 * 8 * 10 + 10)
    variables = by_op(graph, "VarHandleOp")
    # Parameters with two slots each, the statistics, the step's counter and the rate.
    assert 4 * (3 * parameters + 2 * 8) <= int(graph.mem[variables].sum()) <= 4 * (3 * parameters + 2 * 8) + 64
    assert len({int(v) for v in graph.gradient_of if v >= 0}) == len(model.trainable_variables)
    conv, dense = 2 * 4 * 8 * 8 * 8 * 27, 2 * 4 * 512 * 10
    assert counted.coverage.flops == 2 * conv + 3 * dense  # nobody asks for the gradient of the images
    write_graph(tmp_path / "g.h5", graph)
    subprocess.run([pardnn_binary, "validate", str(tmp_path / "g.h5")], check=True, capture_output=True)


@pytest.mark.parametrize(("autograph", "body"), [("False", "    if tf.reduce_sum(x) > 0:\n        return x\n    return -x\n"),
                                                 ("True", "    n = x.numpy()\n    return x * n\n"),
                                                 ("True", "    if tf.reduce_sum(x) > 0:\n        y = x\n    return y\n")])
def test_tracing_that_stops_names_the_users_line(autograph: str, body: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """E20."""
    source = tmp_path / "branchy.py"
    source.write_text(f"import tensorflow as tf\n\n@tf.function(autograph={autograph})\ndef step(x):\n{body}\n"
                      "def make():\n    return step, (tf.TensorSpec([4]),)\n")
    assert main([f"{source}:make", "-o", str(tmp_path / "g.h5")]) == 3
    error = capsys.readouterr().err
    assert "branchy.py:5" in error and "tf.cond" in error and "user code" not in error and error.count("\n") == 1
    assert list(tmp_path.glob("*.h5")) == []


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(CaptureError, match="expected a tf.function"):
        capture_function(len, tf.TensorSpec([4]))


def test_the_partitioner_takes_it(train_step: Any, pardnn_binary: str, tmp_path: Path) -> None:
    write_graph(tmp_path / "g.h5", capture_function(train_step, *ARGS))
    subprocess.run([pardnn_binary, "validate", str(tmp_path / "g.h5")], check=True, capture_output=True)
    subprocess.run([pardnn_binary, "partition", str(tmp_path / "g.h5"), "--devices", "2", "--memory", "1GiB", "--preset", "fast",
                    "-o", str(tmp_path / "p.tsv")], check=True, capture_output=True)
