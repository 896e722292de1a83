"""Every kind of layer and idiom that torch has: captured, replayed in a random order, equal to the last bit."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch_step_layers import LAYERS, Does, checkpointed_dropout, plain_dropout  # noqa: E402
from torch_step_support import Plain, Replayed, captured, differing, random_order  # noqa: E402

from pardnn.torch_step.step import Step  # noqa: E402


def mean_square(module, x):
    y = module(x)
    return (y[0] if isinstance(y, tuple) else y).float().pow(2).mean()


def step_over(name):
    torch.manual_seed(3)
    module, x = LAYERS[name]()
    return Step(module, mean_square, (x,), lambda parameters: torch.optim.SGD([p for p in parameters if p.requires_grad], lr=0.1))


@pytest.mark.parametrize("name", LAYERS)
def test_replay_of(name):
    step = step_over(name)
    found = captured(step)
    plain = Plain(step)
    replayed = Replayed(found.program, found.graph, plain, strict=True)
    for number in range(2):
        assert not differing(plain.run(number), replayed.run(number, random_order(found.graph, number)))
        assert not differing(plain.state(), replayed.state())


def test_checkpoints_draw_the_same_random_numbers_again():
    """The step with checkpoints does what the step without does, to the last bit: so the masks of the second forward pass are those of the first."""
    states = []
    for function in (checkpointed_dropout, plain_dropout):
        torch.manual_seed(4)
        module = Does(function, *(torch.nn.Linear(4, 4) for _ in range(3)))
        plain = Plain(Step(module, mean_square, (torch.randn(2, 4),), lambda parameters: torch.optim.SGD(parameters, lr=0.1)))
        plain.run(0)
        states.append(plain.state())
    assert not differing(*states)


def test_a_layout_that_fake_tensors_do_not_know_is_copied():
    """Fake tensors say that the gradient through batch norm is row-major where the CPU's is channels-last: the replay copies, and counts it."""
    torch.manual_seed(3)
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)).to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 6, 6).contiguous(memory_format=torch.channels_last)
    step = Step(module, mean_square, (x,), lambda parameters: torch.optim.SGD(parameters, lr=0.1))
    found = captured(step)
    plain = Plain(step)
    replayed = Replayed(found.program, found.graph, plain)
    replayed.run(0)
    plain.run(0)
    for name, tensor in plain.state().items():
        torch.testing.assert_close(replayed.state()[name], tensor)
