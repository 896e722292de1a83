"""Training steps of JAX: state, order, work, and whether the graph computes what the step does."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

from pardnn import Graph, Kind, write_graph  # noqa: E402
from pardnn.capture_common import CaptureError, Costing, Report  # noqa: E402
from pardnn.capture_jax import capture_step, main, step_with_report  # noqa: E402
from pardnn.costs import cost_model  # noqa: E402
from pardnn.jax_step.convert import Options, _Conversion  # noqa: E402
from pardnn.jax_step.program import Value, program_of  # noqa: E402
from pardnn.jax_step.state import traced  # noqa: E402

BATCH, WIDTH, CLASSES, LAYERS = 8, 32, 4, 3
SHAPES = {"first": (16, WIDTH), "last": (WIDTH, CLASSES), "middle": (LAYERS, WIDTH, WIDTH)}


def train(state: Any, x: Any, y: Any) -> Any:
    """Dense layers, a scan over the middle ones, one of them rematerialised; momentum."""
    weights, momenta = state

    def loss(w: Any) -> Any:
        h = jax.checkpoint(lambda x, k: jax.nn.relu(x @ k))(x, w["first"])
        h, _ = lax.scan(lambda h, k: (jnp.tanh(h @ k), None), h, w["middle"])
        return -jnp.mean(jax.nn.log_softmax(jax.jit(lambda h, k: h @ k)(h, w["last"])) * y)

    value, grads = jax.value_and_grad(loss)(weights)
    momenta = jax.tree.map(lambda m, g: 0.9 * m + g, momenta, grads)
    return (jax.tree.map(lambda w, m: w - 0.1 * m, weights, momenta), momenta), value


def shapes_of(tree: Any) -> Any:
    return jax.tree.map(lambda shape: jax.ShapeDtypeStruct(shape, jnp.float32), tree, is_leaf=lambda leaf: isinstance(leaf, tuple))


STATE = (shapes_of(SHAPES), shapes_of(SHAPES))
DATA = (jax.ShapeDtypeStruct((BATCH, 16), jnp.float32), jax.ShapeDtypeStruct((BATCH, CLASSES), jnp.float32))


def counted(step: Any, state: Any, *batch: Any, **options: Any) -> tuple[Graph, Report, Costing]:
    costing = Costing(cost_model("roofline:V100"))
    graph, report = step_with_report(step, state, batch, costing=costing, **options)
    return graph, report, costing


def into(graph: Graph, node: int) -> set[int]:
    return set(graph.source[graph.target == node].tolist())


def writer_of(graph: Graph, leaf: str) -> int:
    group = graph.colocation[graph.names.index(leaf)]
    return next(n for n in range(graph.num_nodes) if graph.kind[n] == Kind.REFERENCE and graph.colocation[n] == group)


class TestState:
    def test_leaves_are_residuals_named_by_their_path(self) -> None:
        graph, _, _ = counted(train, STATE, *DATA)
        held = {graph.names[n]: int(graph.mem[n]) for n in range(graph.num_nodes) if graph.kind[n] == Kind.RESIDUAL}
        assert held == {f"state[{i}]['{k}']": 4 * int(np.prod(s)) for i in (0, 1) for k, s in SHAPES.items()}

    def test_each_leaf_has_one_writer_on_its_device(self) -> None:
        graph, report, _ = counted(train, STATE, *DATA)
        for i in (0, 1):
            for name in SHAPES:
                leaf = graph.names.index(f"state[{i}]['{name}']")
                writers = [n for n in range(graph.num_nodes) if graph.kind[n] == Kind.REFERENCE and graph.colocation[n] == graph.colocation[leaf]]
                assert len(writers) == 1 and graph.mem[writers[0]] == 0
        assert report.of("nodes added that copy a new value into the state") == 0

    def test_all_readers_of_the_old_value_come_before(self) -> None:
        graph, _, _ = counted(train, STATE, *DATA)
        leaf = graph.names.index("state[0]['last']")
        writer = writer_of(graph, "state[0]['last']")
        readers = {int(t) for s, t in zip(graph.source, graph.target) if s == leaf} - {writer}
        assert len(readers) >= 2 and readers <= into(graph, writer)

    def test_gradients_of_parameters_are_marked(self) -> None:
        graph, _, _ = counted(train, STATE, *DATA, unroll=LAYERS)
        marked = {graph.names[int(v)] for v in graph.gradient_of if v >= 0}
        assert marked == {f"state[0]['{name}']" for name in SHAPES}
        gradient = int(np.flatnonzero(graph.gradient_of == graph.names.index("state[0]['first']"))[0])
        assert "transpose(" in graph.names[gradient]

    def test_a_leaf_that_takes_anothers_value_is_kept_apart(self) -> None:
        graph, _, _ = counted(lambda s: {"a": s["b"], "b": s["a"]}, {"a": jnp.zeros(4), "b": jnp.zeros(4)})
        assert sorted(graph.op_name(n) for n in range(graph.num_nodes)) == ["copy", "copy", "state", "state", "update", "update"]

    def test_a_leaf_that_stays_has_no_writer(self) -> None:
        graph, report, _ = counted(lambda s: {"a": s["a"], "b": s["b"] + 1}, {"a": jnp.zeros(4), "b": jnp.zeros(4)})
        assert report.of("leaves of the state that stay as they are") == 1
        assert int((graph.kind == Kind.REFERENCE).sum()) == 1

    def test_a_result_that_is_no_new_state_is_refused(self) -> None:
        with pytest.raises(CaptureError, match="expected the new state"):
            capture_step(lambda s, x: x, {"a": jnp.zeros(4)}, jnp.zeros(2))
        with pytest.raises(CaptureError, match=r"state\['a'\]: the step takes float32\[4\] and returns float32\[5\]"):
            capture_step(lambda s: {"a": jnp.zeros(5)}, {"a": jnp.zeros(4)})

    def test_samples_are_the_leading_dimension(self) -> None:
        assert counted(train, STATE, *DATA)[0].samples_per_step == BATCH
        assert counted(train, STATE, *DATA, samples=2)[0].samples_per_step == 2


class TestWork:
    def products(self) -> int:
        """Forward, gradients of weights and of inputs, but not of the batch; the first layer twice."""
        first, middle, last = 16 * WIDTH, LAYERS * WIDTH * WIDTH, WIDTH * CLASSES
        return 2 * BATCH * (3 * first + 3 * middle + 3 * last)

    def test_flops_by_hand(self) -> None:
        assert counted(train, STATE, *DATA)[2].coverage.flops == self.products()

    def test_an_unrolled_scan_has_the_same_work(self) -> None:
        graph, report, costing = counted(train, STATE, *DATA, unroll=LAYERS)
        assert costing.coverage.flops == self.products()
        assert report.of("scans unrolled") == 2 and "scan" not in graph.op_types

    def test_a_longer_scan_stays_one_node(self) -> None:
        graph, report, _ = counted(train, STATE, *DATA, unroll=LAYERS - 1)
        assert report.of("scans taken as one operation") == 2 and "scan" in graph.op_types

    def test_convolution_with_stride_and_its_gradients(self) -> None:
        def step(w: Any, x: Any) -> Any:
            conv = lambda w, x: lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))  # noqa: E731
            gradient, back = jax.grad(lambda w, x: jnp.sum(conv(w, x) ** 2), argnums=(0, 1))(w, x)
            return w - gradient, back

        costing = counted(step, jnp.zeros((3, 3, 4, 16)), jnp.zeros((2, 8, 8, 4)))[2]
        assert costing.coverage.flops == 3 * 2 * (2 * 4 * 4 * 16) * (3 * 3 * 4)

    def test_while_and_cond(self) -> None:
        def step(s: Any) -> Any:
            s = lax.fori_loop(0, s.shape[0] * 0 + jnp.int32(5) + s.astype(jnp.int32)[0, 0], lambda i, h: h @ h, s)
            return lax.cond(s[0, 0] > 0, lambda h: h @ h @ h, lambda h: h, s)

        _, report, costing = counted(step, jnp.zeros((16, 16)), iterations=5)
        assert costing.coverage.flops == (5 + 2) * 2 * 16**3
        assert report.of("while loops taken as one operation of 5 iterations") == 1
        assert report.of("cond operations taken as their dearest branch") == 1

    def test_what_no_result_needs_is_dropped(self) -> None:
        def step(s: Any) -> Any:
            jnp.sin(s)
            return s + 1

        graph, _, _ = counted(step, jnp.zeros(4))
        assert "sin" not in graph.op_types

    def test_a_large_model_takes_no_memory(self) -> None:
        shape = jax.ShapeDtypeStruct((2**20, 2**17), jnp.bfloat16)  # 256 GiB
        graph, _, _ = counted(lambda w, x: w - 0.1 * (x.T @ (x @ w)).astype(w.dtype), shape, jax.ShapeDtypeStruct((8, 2**20), jnp.bfloat16))
        assert graph.residual_bytes() == 2 * 2**37


def run_in_order(graph: Graph, conversion: Any, order: list[int], values: list[Any]) -> list[Any]:
    """Runs the nodes in ``order`` on buffers: writers overwrite the state, views are read when they are used. The state at the end."""
    program, op_of = conversion.program, {node: op for op, node in conversion.node.items()}
    state = list(values[:conversion.step.leaves])
    made: dict[int, list[Any]] = {}

    def compute(i: int) -> list[Any]:
        op = program.ops[i]
        if op.primitive == "argument":
            place = conversion.place[i]
            return [state[place] if place < len(state) else values[place]]
        if op.primitive == "constant":
            return [op.literals[0]]
        inputs = [op.literals[k] if value is None else read(value) for k, value in enumerate(op.inputs)]
        if op.primitive == "copy":
            return inputs
        if op.primitive == "scan_stack":
            return [jnp.stack(inputs)]
        if op.primitive == "scan_slice":
            return [inputs[0][int(op.scope.rpartition("iteration")[2].split("/")[0])]]
        out = op.bind.bind(*inputs, **op.params)
        return list(out) if op.bind.multiple_results else [out]

    def read(value: Any) -> Any:
        i = value.op
        view = graph.alias[conversion.node[i]] >= 0 and i not in conversion.writers
        if i in conversion.writers:
            return state[conversion.writers[i]]
        return compute(i)[value.output] if view or program.ops[i].primitive == "argument" else made[i][value.output]

    updates = {graph.names.index(f"update/{name}"): leaf for leaf, name in enumerate(conversion.step.names[:len(state)])
               if f"update/{name}" in graph.names}
    for node in order:
        if node in updates:
            leaf = updates[node]
            source, output = next((s, o) for s, t, o, b in zip(graph.source, graph.target, graph.output, graph.bytes) if t == node and b)
            state[leaf] = read(Value(op_of[int(source)], int(output)))
        elif node in op_of:
            made[op_of[node]] = compute(op_of[node])
            if op_of[node] in conversion.writers:
                state[conversion.writers[op_of[node]]] = made[op_of[node]][0]
    return state


def some_order(graph: Graph, seed: int) -> list[int]:
    """A topological order drawn by ``seed``."""
    draw = random.Random(seed)
    return ordered(graph, lambda ready: draw.randrange(len(ready)), lambda size: True)


def hasty_order(graph: Graph, update: int) -> list[int]:
    """An order in which data edges alone bind, and all that ``update`` needs, and it, come first."""
    first, stack = {update}, [update]
    while stack:
        node = stack.pop()
        sources = set(graph.source[(graph.target == node) & (graph.bytes > 0)].tolist()) - first
        first |= sources
        stack.extend(sources)
    return ordered(graph, lambda ready: max(range(len(ready)), key=lambda i: ready[i] in first), lambda size: size > 0)


def ordered(graph: Graph, choose: Callable[[list[int]], int], binds: Callable[[int], bool]) -> list[int]:
    missing = [0] * graph.num_nodes
    readers: list[list[int]] = [[] for _ in missing]
    for s, t, size in zip(graph.source.tolist(), graph.target.tolist(), graph.bytes.tolist()):
        if binds(size):
            missing[t] += 1
            readers[s].append(t)
    ready = [n for n, m in enumerate(missing) if not m]
    order = []
    while ready:
        order.append(ready.pop(choose(ready)))
        for t in readers[order[-1]]:
            missing[t] -= 1
            if not missing[t]:
                ready.append(t)
    return order


def arrays(seed: int = 0) -> tuple[Any, tuple[Any, Any]]:
    draw = np.random.RandomState(seed)
    fill = lambda leaf: jnp.asarray(draw.randn(*leaf.shape).astype(np.float32))  # noqa: E731
    return jax.tree.map(fill, STATE), tuple(jax.tree.map(fill, DATA))


@pytest.mark.parametrize("unroll", [0, LAYERS])
def test_the_graph_computes_the_step_in_any_order(unroll: int) -> None:
    state, batch = arrays()
    with jax.disable_jit():
        expected = jax.tree.leaves(train(state, *batch)[0])
    step = traced(train, state, batch)
    conversion = _Conversion(step, program_of(step.closed, unroll, Report()), Costing(cost_model("roofline:V100")), Options(unroll=unroll), Report())
    graph = conversion.build()
    values = jax.tree.leaves((state, *batch))
    equal = lambda found: all(np.allclose(a, b, rtol=2e-5, atol=2e-6) for a, b in zip(found, expected))  # noqa: E731
    assert all(equal(run_in_order(graph, conversion, some_order(graph, seed), values)) for seed in range(3 if unroll else 1))
    # Without the edges that keep updates behind readers an order can be wrong.
    assert not equal(run_in_order(graph, conversion, hasty_order(graph, writer_of(graph, "state[0]['last']")), values))


def test_swapped_leaves_are_right_in_any_order() -> None:
    swap = lambda s: {"a": s["b"], "b": s["a"], "c": s["a"] + s["b"]}  # noqa: E731
    state = {"a": jnp.arange(3.0), "b": 10 + jnp.arange(3.0), "c": jnp.zeros(3)}
    step = traced(swap, state, ())
    conversion = _Conversion(step, program_of(step.closed, 0, Report()), Costing(cost_model("roofline:V100")), Options(), Report())
    graph = conversion.build()
    for seed in range(10):
        a, b, c = run_in_order(graph, conversion, some_order(graph, seed), jax.tree.leaves(state))
        assert (a.tolist(), b.tolist(), c.tolist()) == ([10, 11, 12], [0, 1, 2], [10, 12, 14])


class TestCommand:
    def write(self, folder: Path, body: str) -> str:
        (folder / "mine.py").write_text("import jax\nimport jax.numpy as jnp\n\n" + body)
        return f"{folder / 'mine.py'}:make"

    def test_a_step_is_written_and_taken_by_the_partitioner(self, tmp_path: Path, pardnn_binary: str, capsys: pytest.CaptureFixture[str]) -> None:
        source = self.write(tmp_path, "def step(s, x):\n    g = jax.grad(lambda w: jnp.sum((x @ w) ** 2))(s)\n    return s - g\n\n"
                                      "def make():\n    return jax.jit(step), jnp.zeros((4, 4)), jnp.zeros((2, 4))\n")
        assert main([source, "-o", str(tmp_path / "g.h5")]) == 0
        assert "modelled" in capsys.readouterr().out
        subprocess.run([pardnn_binary, "validate", str(tmp_path / "g.h5")], check=True, capture_output=True)

    def test_control_flow_on_values_names_the_users_line(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """E20."""
        source = self.write(tmp_path, "def step(s):\n    if s.sum() > 0:\n        return s\n    return -s\n\ndef make():\n    return step, jnp.zeros(4)\n")
        assert main([source, "-o", str(tmp_path / "g.h5")]) == 3
        error = capsys.readouterr().err
        assert "mine.py:5" in error and "jax.lax.cond" in error and error.count("\n") == 1
        assert not list(tmp_path.glob("*.h5"))

    @pytest.mark.parametrize(("body", "said"), [("def other():\n    pass\n", "there is no function 'make'"),
                                                ("def make():\n    return 3\n", "expected it to return"),
                                                ("import nowhere_at_all\n", "nowhere_at_all"), ("def make(:\n", "SyntaxError")])
    def test_bad_input_is_one_line_and_exit_3(self, body: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([self.write(tmp_path, body), "-o", str(tmp_path / "g.h5")]) == 3
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1 and not list(tmp_path.glob("*.h5"))


def test_all_graphs_are_placed(pardnn_binary: str, tmp_path: Path) -> None:
    for unroll in (0, LAYERS):
        write_graph(tmp_path / "g.h5", capture_step(train, STATE, *DATA, unroll=unroll))
        subprocess.run([pardnn_binary, "validate", str(tmp_path / "g.h5")], check=True, capture_output=True)
        subprocess.run([pardnn_binary, "partition", str(tmp_path / "g.h5"), "--devices", "2", "--memory", "1GiB", "--preset", "fast",
                        "-o", str(tmp_path / "p.tsv")], check=True, capture_output=True)


def test_two_captures_are_equal() -> None:
    first, second = capture_step(train, STATE, *DATA), capture_step(train, STATE, *DATA)
    assert first.names == second.names and first.comp.tolist() == second.comp.tolist()
    assert (first.source.tolist(), first.target.tolist(), first.bytes.tolist()) == (second.source.tolist(), second.target.tolist(), second.bytes.tolist())
