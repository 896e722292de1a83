"""A TF1 training step: nodes, edges, groups, costs and memory, against what TensorFlow itself tells."""

from __future__ import annotations

import heapq
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

tf = pytest.importorskip("tensorflow")

from pardnn import Graph, Kind, write_graph  # noqa: E402
from pardnn.capture_common import Costing, Report  # noqa: E402
from pardnn.capture_tensorflow import capture_graph_def, capture_with_report  # noqa: E402
from pardnn.costs import How, cost_model  # noqa: E402
from pardnn.tensorflow_step.run_metadata import profile_of  # noqa: E402


def captured(step: Any, **options: Any) -> tuple[Graph, Report, Costing]:
    costing = Costing(cost_model("roofline:V100"))
    graph, report = capture_with_report(step.graph_def, fetches=step.fetches, costing=costing, **options)
    return graph, report, costing


def node(graph: Graph, name: str) -> int:
    return graph.names.index(name)


def edges_into(graph: Graph, name: str) -> dict[str, int]:
    return {graph.names[s]: b for s, t, b in zip(graph.source.tolist(), graph.target.tolist(), graph.bytes.tolist()) if t == node(graph, name)}


def single_device_peak(binary: str, graph: Graph, folder: Path) -> int:
    """The peak that the partitioner tells of the whole graph on one device."""
    write_graph(folder / "g.h5", graph)
    told = subprocess.run([binary, "info", str(folder / "g.h5"), "--json", "-"], check=True, capture_output=True, text=True).stdout
    return int(json.loads(told)["single_device_peak_bytes"])


def test_variables_are_residuals_of_their_size(mlp: Any) -> None:
    graph, _, _ = captured(mlp)
    variables = [n for n in range(graph.num_nodes) if graph.op_name(n) == "VariableV2"]
    assert len(variables) == 3 * 6 + 2  # weights, biases, two slots each, two powers
    assert all(graph.kind[n] == Kind.RESIDUAL for n in variables)
    assert int(graph.mem[variables].sum()) == mlp.variable_bytes


def test_reads_are_aliases_and_updates_references_in_one_group(mlp: Any) -> None:
    graph, _, _ = captured(mlp)
    weight, read, update = node(graph, "l1/w"), node(graph, "l1/w/read"), node(graph, "train/update_l1/w/ApplyAdam")
    assert graph.alias[read] == weight
    assert graph.kind[update] == Kind.REFERENCE and graph.mem[update] == 0
    group = graph.colocation[weight]
    assert group >= 0
    assert {graph.colocation[n] for n in (read, update, node(graph, "l1/w/Adam"), node(graph, "l1/w/Adam_1"))} == {group}
    assert graph.colocation[node(graph, "l0/w")] != group


def test_updates_wait_for_readers_of_the_old_value(mlp: Any) -> None:
    graph, _, _ = captured(mlp)
    into = edges_into(graph, "train/update_l1/w/ApplyAdam")
    assert into["l1/MatMul"] == 0 and into["gradients/l1/MatMul_grad/MatMul"] == 0


def test_data_edges_carry_bytes_and_control_edges_none(mlp: Any) -> None:
    graph, _, _ = captured(mlp)
    assert edges_into(graph, "l1/MatMul") == {"l0/Relu": 64 * 512 * 4, "l1/w/read": 512 * 512 * 4}
    assert set(edges_into(graph, "train").values()) == {0}


def test_gradients_are_marked(mlp: Any) -> None:
    graph, _, _ = captured(mlp)
    for layer in range(3):
        gradient = node(graph, f"gradients/l{layer}/MatMul_grad/tuple/control_dependency_1")
        assert graph.gradient_of[gradient] == node(graph, f"l{layer}/w")
    assert int((graph.gradient_of >= 0).sum()) == 6


def test_initialisers_are_no_part_of_the_step(mlp: Any) -> None:
    graph, report, _ = captured(mlp)
    assert not any("Initializer" in name for name in graph.names)
    assert report.of("nodes dropped that the step does not need") == len(mlp.graph_def.node) - graph.num_nodes


def test_flops_are_those_of_the_products(mlp: Any) -> None:
    _, _, costing = captured(mlp)
    assert costing.coverage.flops == 3 * 2 * 64 * (256 * 512 + 512 * 512 + 512 * 10)


def test_times_are_those_of_the_profile(mlp: Any) -> None:
    graph, report, costing = captured(mlp, profile=mlp.metadata)
    stats = {s.node_name: s for d in mlp.metadata.step_stats.dev_stats for s in d.node_stats}
    product = stats["l1/MatMul"]
    assert graph.comp[node(graph, "l1/MatMul")] == product.op_end_rel_nanos - product.op_start_rel_nanos
    assert costing.coverage.nodes[How.MEASURED] > 0.85 * costing.coverage.nodes.total()
    assert any(line.startswith("the profile has") for line in report.lines())


def test_without_fetches_the_profile_tells_the_step(mlp: Any) -> None:
    by_profile, _ = capture_with_report(mlp.graph_def, profile=mlp.metadata, costing=Costing(cost_model("roofline:V100")))
    by_fetch, _, _ = captured(mlp)
    assert set(by_fetch.names) <= set(by_profile.names)
    assert not any("Initializer" in name for name in by_profile.names)


def order_of_the_run(graph: Graph, metadata: Any) -> list[int]:
    """The nodes in the order in which the profile saw them start; those it did not see as early as they can."""
    started = {s.node_name: s.all_start_nanos for d in metadata.step_stats.dev_stats for s in d.node_stats}
    start = [started.get(name, started.get(name.split("/", 1)[-1], 0)) for name in graph.names]
    missing = [int((graph.target == n).sum()) for n in range(graph.num_nodes)]
    ready = [(start[n], n) for n in range(graph.num_nodes) if not missing[n]]
    heapq.heapify(ready)
    result = []
    while ready:
        _, node = heapq.heappop(ready)
        result.append(node)
        for reader in graph.target[graph.source == node].tolist():
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, (start[reader], reader))
    return result


def peak_in_order(graph: Graph, order: list[int]) -> int:
    """The memory rules of the model on one device, with the nodes one after the other."""
    at = {n: i for i, n in enumerate(order)}
    root = list(range(graph.num_nodes))
    for n in range(graph.num_nodes):
        while graph.alias[root[n]] >= 0:
            root[n] = int(graph.alias[root[n]])
    last = [0] * graph.num_nodes
    for n in range(graph.num_nodes):
        last[root[n]] = max(last[root[n]], at[n])
    for s, t, size in zip(graph.source.tolist(), graph.target.tolist(), graph.bytes.tolist()):
        if size:
            last[root[s]] = max(last[root[s]], at[t])
    change = [0] * (len(order) + 1)
    for n in range(graph.num_nodes):
        if root[n] == n and graph.kind[n] == Kind.NORMAL:
            change[at[n]] += int(graph.mem[n])
            change[last[n] + 1] -= int(graph.mem[n])
    live = peak = graph.residual_bytes()
    for i, n in enumerate(order):
        live += change[i]
        peak = max(peak, live + int(graph.temp[n]))
    return peak


@pytest.mark.parametrize("model", ["mlp", "convnet"])
def test_peak_agrees_with_the_allocators_records(model: str, request: pytest.FixtureRequest, pardnn_binary: str, tmp_path: Path) -> None:
    """In the order in which TensorFlow ran the step. (The emulated run's own order is another: TensorFlow puts filters' gradients off.)

    The records lack the constants, which live in their kernels, and fed tensors, which are the caller's.
    """
    step = request.getfixturevalue(model)
    graph, _, _ = captured(step, profile=step.metadata)
    not_recorded = sum(int(graph.mem[n]) for n in range(graph.num_nodes) if graph.op_name(n) in ("Const", "Placeholder"))
    ours = peak_in_order(graph, order_of_the_run(graph, step.metadata)) - not_recorded
    theirs = profile_of(step.metadata).allocator_peak() + step.variable_bytes
    emulated = single_device_peak(pardnn_binary, graph, tmp_path) - not_recorded
    print(f"{model}: TensorFlow {theirs} B, model in its order {ours} B ({ours / theirs:.4f}), emulated {emulated} B ({emulated / theirs:.4f})")
    assert 0.95 * theirs <= ours <= 1.10 * theirs
    assert emulated <= 1.10 * theirs


def test_tensorflow_itself_runs_with_the_added_edges(mlp: Any) -> None:
    """Each edge without bytes as a control input: no deadlock, and the same variables to the last bit."""
    graph, _, _ = captured(mlp)
    ordered = type(mlp.graph_def)()
    ordered.CopyFrom(mlp.graph_def)
    nodes = {n.name: n for n in ordered.node}
    added = 0
    for s, t, size in zip(graph.source.tolist(), graph.target.tolist(), graph.bytes.tolist()):
        control, present = f"^{graph.names[s]}", nodes[graph.names[t]].input
        if not size and control not in present:
            present.append(control)
            added += 1
    assert added > 10
    plain, with_edges = (variables_after_a_step(definition) for definition in (mlp.graph_def, ordered))
    assert plain.keys() == with_edges.keys()
    assert all((plain[name] == with_edges[name]).all() for name in plain)


def variables_after_a_step(definition: Any) -> dict[str, Any]:
    tf1 = tf.compat.v1
    names = [f"{n.name}:0" for n in definition.node if n.op == "VariableV2"]
    config = tf1.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
    with tf.Graph().as_default() as graph:
        tf1.import_graph_def(definition, name="")
        with tf1.Session(graph=graph, config=config) as session:
            session.run("init")
            session.run("train", {"x:0": [[0.01 * i for i in range(256)]] * 64, "y:0": [i % 10 for i in range(64)]})
            return dict(zip(names, session.run(names)))


def test_the_partitioner_takes_it(mlp: Any, convnet: Any, pardnn_binary: str, tmp_path: Path) -> None:
    for step in (mlp, convnet):
        graph, _, _ = captured(step)
        write_graph(tmp_path / "g.h5", graph)
        subprocess.run([pardnn_binary, "validate", str(tmp_path / "g.h5")], check=True, capture_output=True)
        subprocess.run([pardnn_binary, "partition", str(tmp_path / "g.h5"), "--devices", "2", "--memory", "1GiB", "--preset", "fast",
                        "-o", str(tmp_path / "p.tsv")], check=True, capture_output=True)


def test_two_captures_are_equal(mlp: Any) -> None:
    first, second = captured(mlp)[0], captured(mlp)[0]
    assert first.names == second.names and first.comp.tolist() == second.comp.tolist()
    assert (first.source.tolist(), first.target.tolist(), first.bytes.tolist()) == (second.source.tolist(), second.target.tolist(), second.bytes.tolist())


def test_resource_variables_give_the_same_memory_and_order() -> None:
    tf1 = tf.compat.v1
    with tf.Graph().as_default() as graph_of_tf:
        x = tf1.placeholder(tf.float32, [4, 8], name="x")
        w = tf1.get_variable("w", [8, 8], use_resource=True)
        loss = tf.reduce_sum(tf.matmul(tf.matmul(x, w), w))
        tf1.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
    graph = capture_graph_def(graph_of_tf.as_graph_def(), fetches=["train"])
    update = next(n for n in range(graph.num_nodes) if graph.op_name(n) == "ResourceApplyGradientDescent")
    assert graph.kind[update] == Kind.REFERENCE
    assert graph.residual_bytes() >= 8 * 8 * 4
    users = {n for n in range(graph.num_nodes) if graph.op_name(n) == "MatMul" and any(
        graph.op_name(int(s)) == "ReadVariableOp" for s in graph.source[graph.target == n])}
    before = set(graph.source[graph.target == update].tolist())
    ancestors, stack = set(before), list(before)
    while stack:
        n = stack.pop()
        fresh = set(graph.source[graph.target == n].tolist()) - ancestors
        ancestors |= fresh
        stack.extend(fresh)
    assert len(users) >= 3 and users <= ancestors
