"""A captured step, run node by node in random topological orders, does what the eager step does, to the last bit."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch_step_models import MODELS, OPTIMIZERS  # noqa: E402
from torch_step_support import Flat, Plain, Replayed, captured, differing, random_order, seeded  # noqa: E402

from pardnn.torch_step.capture import capture  # noqa: E402
from pardnn.torch_step.errors import ProgramError  # noqa: E402
from pardnn.torch_step.optimizers import capturable  # noqa: E402
from pardnn.torch_step.program import load_program  # noqa: E402
from pardnn.torch_step.replay import Runner, replay  # noqa: E402
from pardnn.torch_step.state import load_state, module_state, named_state  # noqa: E402

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


def test_gradients_that_are_kept_and_zeroed_are_state():
    """``zero_grad(set_to_none=False)``: gradients live across steps and start as zeros."""
    module = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)

    def step_fn(x):
        optimizer.zero_grad(set_to_none=False)
        loss = module(x).pow(2).sum()
        loss.backward()
        optimizer.step()
        return loss

    x = torch.randn(5, 4)
    found = capture(step_fn, (x,), modules=module, optimizers=optimizer, costs=Flat())
    assert {b.name for b in found.program.bindings if b.role == "gradient"} == {"weight/grad", "bias/grad"} and not found.warnings
    assert sorted(found.graph.gradient_of[found.graph.gradient_of >= 0].tolist()) == [0, 1]
    values = load_state(found.program, module_state(module))
    for number in range(3):
        expected = step_fn(x)
        got = replay(found.program, found.graph, values, [x], order=random_order(found.graph, number))
        assert torch.equal(expected, got["output"])
        assert not differing(module_state(module), named_state(found.program, values))


def test_two_optimizers_in_turn():
    """As in adversarial training: the second backward pass adds to gradients of the first network after its update; they are not its gradient."""
    judge, maker = torch.nn.Linear(3, 1), torch.nn.Linear(2, 3)
    optimizers = [torch.optim.Adam(m.parameters(), lr=0.01) for m in (judge, maker)]

    def step_fn(real, noise):
        optimizers[0].zero_grad()
        loss = judge(maker(noise).detach()).mean() - judge(real).mean()
        loss.backward()
        optimizers[0].step()
        optimizers[1].zero_grad()
        fooled = -judge(maker(noise)).mean()
        fooled.backward()
        optimizers[1].step()
        return loss, fooled

    data = torch.randn(4, 3), torch.randn(4, 2)
    found = capture(step_fn, data, modules={"judge": judge, "maker": maker}, optimizers=optimizers, costs=Flat())
    assert sorted(found.graph.gradient_of[found.graph.gradient_of >= 0].tolist()) == [0, 1, 2, 3]
    state = {f"{n}.{k}": v for n, m in (("judge", judge), ("maker", maker)) for k, v in module_state(m).items()}
    values = load_state(found.program, state, [o.state_dict() for o in optimizers])
    for number in range(3):
        with capturable(optimizers):
            expected = step_fn(*data)
        got = replay(found.program, found.graph, values, data, order=random_order(found.graph, number))
        assert torch.equal(expected[0], got["0"]) and torch.equal(expected[1], got["1"])
        assert not differing(state, named_state(found.program, values))


def test_a_rate_that_is_a_tensor_is_state():
    step = seeded("mlp")
    rate = torch.tensor(0.05)
    step.optimizer = lambda parameters: torch.optim.AdamW(parameters, lr=rate)
    found = captured(step)
    plain = Plain(step)
    replayed = Replayed(found.program, found.graph, plain)
    where = next(b.ref for b in found.program.bindings if b.role == "rate")
    for number in range(3):
        rate.mul_(0.5)
        replayed.values[where].copy_(rate)
        plain.run(number)
        replayed.run(number)
        assert not differing(plain.state(), replayed.state())


def test_a_device_without_kernels_is_named():
    if torch.backends.cuda.is_built():
        pytest.skip("this torch has kernels for CUDA")
    with pytest.raises(ProgramError, match="no kernel on cuda: the step was captured for cpu"):
        Runner(captured(seeded("mlp")).program, device="cuda")
