"""Emulated runs in which messages take time of the devices, by hand."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pardnn.fidelity_run.draw import Candidate  # noqa: E402
from pardnn.fidelity_run.messages import MessageCost, read_cost, with_copies, write_cost  # noqa: E402
from pardnn.graph import GraphBuilder  # noqa: E402
from pardnn.runtime.links import Machine  # noqa: E402
from pardnn.runtime.schedule import emulate  # noqa: E402

COST = MessageCost(100.0, 0.5, 200.0, 0.25)


@pytest.fixture
def machine():
    """Latency 1000 ns, 1 ns a byte."""
    return Machine(np.full(2, 10**6), np.full((2, 2), 1000), np.full((2, 2), 10**9))


def run(graph, device, machine, cost):
    placement = np.array(device, dtype=np.int64)
    return with_copies(graph, Candidate("c", "random", placement, emulate(graph, placement, machine)), machine, cost)


def small():
    """a's output goes to b and c; a second output and a control edge to c; b and c meet in d."""
    builder = GraphBuilder()
    for name in "abcd":
        builder.node(name, op="x", comp=1000)
    builder.edge(0, 1, 400)
    builder.edge(0, 2, 400)
    builder.edge(0, 2, 80, 1)
    builder.edge(1, 3, 40)
    builder.edge(2, 3, 40)
    return builder.build()


def test_within_a_device_nothing_changes(machine):
    graph = small()
    assert run(graph, [0, 0, 0, 0], machine, COST) == 4000


def test_both_ends_work_and_the_link_has_the_rest(machine):
    """Two messages from a: 400 B and 80 B, one for both readers; a and its readers are on different devices."""
    graph = small()
    free = MessageCost(0.0, 0.0, 0.0, 0.0)
    assert run(graph, [0, 1, 1, 1], machine, free) == emulate(graph, np.array([0, 1, 1, 1]), machine).makespan == 1000 + 1000 + 400 + 3000
    # a: 1000 + 2 x 100 + 0.5 x 480 = 1440. The link to b: 700 + 0.25 x 400 = 800. b: 1000 + 200 + 0.25 x 400 = 1300; c, by then there: 1000 + 200 + 20.
    assert run(graph, [0, 1, 1, 1], machine, COST) == 1440 + 800 + 1300 + 1220 + 1000


def test_a_link_is_never_shorter_than_nothing(machine):
    graph = small()
    slow = MessageCost(5000.0, 3.0, 5000.0, 3.0)
    a, b, c = 1000 + 2 * 5000 + 3 * 480, 1000 + 5000 + 3 * 400, 1000 + 5000 + 3 * 80
    assert run(graph, [0, 1, 1, 1], machine, slow) == pytest.approx(a + b + c + 1000, abs=2)


def test_files(tmp_path):
    write_cost(tmp_path, COST)
    assert read_cost(tmp_path) == COST
