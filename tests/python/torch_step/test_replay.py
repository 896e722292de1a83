"""A captured step, run node by node in random topological orders, does what the eager step does, to the last bit."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch_step_models import MODELS, OPTIMIZERS  # noqa: E402
from torch_step_support import Plain, Replayed, captured, differing, random_order, seeded  # noqa: E402

from pardnn.torch_step.program import load_program  # noqa: E402

CASES = [(name, parts) for name in MODELS for parts in (1, 2)]


@pytest.mark.parametrize(("name", "parts"), CASES)
def test_random_orders_equal_the_eager_step(name, parts, tmp_path):
    step = seeded(name)
    captured(step, micro_batches=parts).write(tmp_path / "g.h5")
    graph, program = load_program(tmp_path / "g.h5")
    plain = Plain(step, parts)
    plain.run(0)  # makes the optimizer's state
    replayed = Replayed(program, graph, plain, strict=True)
    before = plain.state()
    for number in range(1, 4):
        expected = plain.run(number)
        found = replayed.run(number, random_order(graph, number))
        assert not differing(expected, found)
        assert not differing(plain.state(), replayed.state())
    assert differing(before, plain.state()), "the step changes nothing"


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_from_its_first_step(optimizer):
    """Without state given, a replay starts as a new optimizer does."""
    step = seeded("mlp")
    step.optimizer = OPTIMIZERS[optimizer]
    found = captured(step)
    plain = Plain(step)
    replayed = Replayed(found.program, found.graph, plain)
    for number in range(3):
        plain.run(number)
        replayed.run(number, random_order(found.graph, number))
        assert not differing(plain.state(), replayed.state())


@pytest.mark.parametrize("name", ["recommender", "experts", "transformer"])
def test_without_write_after_read_edges_some_order_goes_wrong(name):
    """The 0-byte edges are needed: without them an update can come before the last reader of what it overwrites.

    (Not where every gradient passes the last reader of every weight first, as in a chain of convolutions with clipping.)
    """
    step = seeded(name)
    found = captured(step, micro_batches=2)
    plain = Plain(step, 2)
    plain.run(0)
    replayed = [Replayed(found.program, found.graph, plain) for _ in range(4)]
    with_all = Replayed(found.program, found.graph, plain)
    plain.run(1)
    with_all.run(1, random_order(found.graph, 0, late_first=True))
    assert not differing(plain.state(), with_all.state())
    data = (found.graph.bytes > 0).tolist()
    assert not all(data)
    wrong = 0
    for seed, run in enumerate(replayed):
        run.run(1, random_order(found.graph, seed, keep=data, late_first=True))
        wrong += bool(differing(plain.state(), run.state()))
    assert wrong


def test_random_numbers_follow_seed_and_step():
    step = seeded("transformer")
    found = captured(step)
    assert len(found.program.random_nodes) == len({found.program.calls[n].random for n in found.program.random_nodes}) == 5
    losses = {}
    for seed, number in ((1, 1), (1, 1), (1, 2), (2, 1)):
        replayed = Replayed(found.program, found.graph, Plain(step))
        losses.setdefault((seed, number), set()).add(float(replayed.run(number, seed=seed)["loss"]))
    assert all(len(values) == 1 for values in losses.values())
    assert len(set.union(*losses.values())) == 3
