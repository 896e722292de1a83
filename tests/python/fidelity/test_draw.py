"""Placements that are drawn are legal, all different, and the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pardnn.fidelity_run.baselines import blocks, list_scheduled  # noqa: E402
from pardnn.fidelity_run.draw import draw  # noqa: E402
from pardnn.fidelity_run.errors import FidelityError  # noqa: E402
from pardnn.fidelity_run.groups import groups  # noqa: E402
from pardnn.graph import GraphBuilder, Kind  # noqa: E402
from pardnn.runtime.links import Machine  # noqa: E402
from pardnn.runtime.placement import check_legal  # noqa: E402
from pardnn.runtime.schedule import emulate  # noqa: E402


def training(layers=12, width=3):
    """Layers of ``width`` operations, each with a weight of its own, an update of it, and a view; the first operation is pinned to device 1."""
    builder = GraphBuilder("training")
    before: list[int] = []
    for layer in range(layers):
        made = []
        for i in range(width):
            group = layer * width + i
            weight = builder.node(f"w{group}", op="parameter", mem=64, kind=Kind.RESIDUAL, colocation=group)
            node = builder.node(f"f{group}", op="mm", comp=1000 + 10 * group, mem=100, fixed=1 if not group else -1)
            view = builder.node(f"v{group}", op="view", alias=node)
            update = builder.node(f"u{group}", op="add_", comp=50, kind=Kind.REFERENCE, colocation=group)
            for u, v, size in ((weight, node, 64), (node, view, 100), (view, update, 100), *((u, node, 100) for u in before)):
                builder.edge(u, v, size)
            made.append(view)
        before = made
    return builder.build()


def test_they_are_legal_seeded_and_distinct():
    graph, machine = training(), Machine.equal(3)
    found = draw(graph, machine, [], 40, 5)
    assert len(found) == 40
    assert {c.kind for c in found} == {"baseline", "random", "mixture"}
    for c in found:
        check_legal(c.name, graph, c.device)
        assert c.device.max() < 3
        assert c.schedule.makespan == emulate(graph, c.device, machine).makespan
    assert len({c.device.tobytes() for c in found}) == 40
    assert len({c.name for c in found}) == 40
    again, other = draw(graph, machine, [], 40, 5), draw(graph, machine, [], 40, 6)
    assert all((a.device == b.device).all() and a.name == b.name for a, b in zip(found, again))
    assert any((a.device != b.device).any() for a, b in zip(found, other))


def test_states_of_the_search_come_after_the_baselines_and_once():
    graph, machine = training(), Machine.equal(2)
    plain = draw(graph, machine, [], 12, 1)
    first = sum(c.kind == "baseline" for c in plain)
    state = plain[-1]
    found = draw(graph, machine, [state, state, plain[0]], 12, 1)
    assert [c.name for c in found[:first + 1]] == [*(c.name for c in plain[:first]), state.name]
    assert {"single", "round robin", "blocks", "heft"} <= {c.name for c in found[:first]}
    assert sum(c is state for c in found) == 1


def test_mixtures_come_from_the_best():
    graph, machine = training(), Machine.equal(2)
    found = draw(graph, machine, [], 30, 1)
    best = min((c for c in found if c.kind == "baseline"), key=lambda c: c.schedule.makespan)
    apart = {c.name.split("%")[0]: (c.device != best.device).mean() for c in found if c.kind == "mixture"}
    assert apart["best, 3"] < apart["best, 25"] < apart["best, 80"] <= 0.7


def test_a_graph_with_too_few_placements():
    builder = GraphBuilder("two")
    for name in "ab":
        builder.node(name, op="x", comp=1)
    with pytest.raises(FidelityError, match="two: only 4 different placements found on 2 devices, 5 are asked for"):
        draw(builder.build(), Machine.equal(2), [], 5, 1)
    assert len(draw(builder.build(), Machine.equal(2), [], 4, 1)) == 4


def test_groups_hold_together_what_belongs_together():
    graph = training(2, 2)
    bound = groups(graph)
    node = {name: i for i, name in enumerate(graph.names)}
    assert bound.of[node["f1"]] == bound.of[node["v1"]] != bound.of[node["w1"]] == bound.of[node["u1"]]
    assert bound.fixed[bound.of[node["v0"]]] == 1
    assert bound.work.sum() == graph.comp.sum()
    assert bound.work[bound.of[node["u3"]]] == 50


def test_blocks_have_equal_work():
    builder = GraphBuilder()
    for n in range(10):
        builder.node(f"n{n}", op="x", comp=7)
        if n:
            builder.edge(n - 1, n, 1)
    assert blocks(groups(builder.build()), 5).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


@pytest.mark.parametrize("earliest_first", [False, True])
def test_list_scheduling_of_two_chains(earliest_first):
    """Two chains that do not talk have a device each; a message that costs more than it saves is not sent."""
    builder = GraphBuilder()
    for n in range(8):
        builder.node(f"n{n}", op="x", comp=10**6)
        if n >= 2:
            builder.edge(n - 2, n, 10)
    graph, machine = builder.build(), Machine.equal(2)
    device = list_scheduled(graph, groups(graph), machine, earliest_first=earliest_first)
    assert device[::2].tolist() == [device[0]] * 4 and device[1::2].tolist() == [1 - device[0]] * 4
    assert emulate(graph, device, machine).makespan == 4 * 10**6
    slow = Machine(machine.speed, machine.latency + 10**9, machine.bandwidth)
    builder.edge(0, 1, 10)
    graph = builder.build()
    assert len(np.unique(list_scheduled(graph, groups(graph), slow, earliest_first=earliest_first))) == 1
