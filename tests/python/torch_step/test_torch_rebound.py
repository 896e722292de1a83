"""State that a step replaces instead of writing it, steps that differ from run to run, and inputs that share memory."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch_step_support import Flat, Plain, Replayed, captured, differing, random_order  # noqa: E402

from pardnn.torch_step.capture import capture  # noqa: E402
from pardnn.torch_step.errors import CaptureError  # noqa: E402
from pardnn.torch_step.replay import Runner, replay  # noqa: E402
from pardnn.torch_step.state import load_state, module_state, named_state  # noqa: E402
from pardnn.torch_step.step import Step  # noqa: E402


def mean_square(module, x):
    return module(x).square().mean()


class Window(nn.Module):
    """A buffer and an attribute that are replaced in each forward pass; one more attribute that only keeps the last output."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("seen", torch.zeros(3, 4))
        self.hidden = torch.zeros(4)
        self.last = None

    def forward(self, x):
        self.seen = torch.cat([self.seen[1:], x[:1].detach()])
        self.hidden = (self.hidden + self.seen.sum(0)).tanh()
        self.last = self.linear(x) * self.hidden
        return self.last


@pytest.mark.parametrize("parts", [1, 2])
def test_replaced_buffers_and_attributes_are_state(parts):
    torch.manual_seed(1)
    step = Step(Window(), mean_square, (torch.randn(4, 4),), lambda p: torch.optim.AdamW(p, lr=0.1))
    found = captured(step, micro_batches=parts)
    plain = Plain(step, parts)
    replays = [Replayed(found.program, found.graph, plain) for _ in range(3)]
    for number in range(3):
        expected = plain.run(number)["loss"]
        for seed, replayed in enumerate(replays):
            assert torch.equal(replayed.run(number, random_order(found.graph, 10 * number + seed, late_first=seed == 2))["loss"], expected)
            state = plain.state()
            del state["last"]
            assert not differing(state, replayed.state())
    assert not any("Python state" in w for w in found.warnings)


def test_attributes_of_modules_are_as_before():
    module = Window()
    before = dict(vars(module))
    captured(Step(module, mean_square, (torch.randn(4, 4),), lambda p: torch.optim.SGD(p, lr=0.1)))
    assert vars(module).keys() == before.keys() and all(vars(module)[k] is v for k, v in before.items())


class Replacing(torch.optim.Optimizer):
    """Keeps its average by replacing it."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.1})

    @torch.no_grad()
    def step(self, closure=None):
        for p in self.param_groups[0]["params"]:
            state = self.state[p]
            state["average"] = 0.9 * state.get("average", torch.zeros_like(p)) + p.grad
            p.data = p.data - 0.1 * state["average"]


def test_replaced_optimizer_state_and_parameter_data():
    torch.manual_seed(2)
    step = Step(nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1)), mean_square, (torch.randn(3, 4),), Replacing)
    found = captured(step)
    plain = Plain(step)
    plain.run(0)  # its first step makes the state
    replayed = Replayed(found.program, found.graph, plain)
    for number in range(1, 4):
        plain.run(number)
        replayed.run(number, random_order(found.graph, number))
        assert not differing(plain.state(), replayed.state())


def parameter_replaced(module):
    module.weight = nn.Parameter(module.weight.detach() * 0.5)


def parameter_taken(module):
    module.bias = None


def buffer_grows(module):
    module.seen = torch.cat([module.seen, module.seen])


def buffer_is_other_state(module):
    module.seen = module.weight.detach()[0]


REFUSED = [(parameter_replaced, "weight: the step replaces the parameter"), (parameter_taken, "bias: the step takes it away"),
           (buffer_grows, "seen: the step replaces it by"), (buffer_is_other_state, "seen: the step makes it the same memory")]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_replacements_that_no_copy_can_stand_for_are_refused(change, message):
    module = nn.Linear(4, 4)
    module.register_buffer("seen", torch.zeros(4))
    weight, bias = module.weight, module.bias
    done = []

    def step(x):
        loss = torch.nn.functional.linear(x, module.weight).sum() + module.seen.sum()
        if done:  # not in the first step, which makes the optimizers' state
            change(module)
        done.append(1)
        return loss

    with pytest.raises(CaptureError, match=message):
        capture(step, (torch.randn(2, 4),), modules=module, optimizers=[], costs=Flat())
    assert module.weight is weight and module.bias is bias


def test_steps_that_change_from_run_to_run_are_told():
    module = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    kept = []

    def update(x):
        optimizer.zero_grad()
        module(x).square().mean().backward()
        optimizer.step()

    def scheduled(x):
        update(x)
        schedule.step()

    def growing(x):
        kept.append(1)
        for _ in kept:
            x = x + 1
        return module(x)

    for step, expected in ((update, ""), (scheduled, f"{__file__}:"), (growing, "")):
        found = capture(step, (torch.randn(2, 4),), modules=module, optimizers=[optimizer], costs=Flat())
        told = [w for w in found.warnings if "Python state" in w]
        assert len(told) == (step is not update) and all(w.startswith(expected) for w in told), told


def test_a_first_step_that_is_another_is_told():
    for dampening, told in ((0.0, 0), (0.5, 1)):
        step = Step(nn.Linear(4, 4), mean_square, (torch.randn(2, 4),), lambda p, d=dampening: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=d))
        warnings = captured(step).warnings
        assert sum("momentum_buffer" in w for w in warnings) == len(warnings) == told


def test_an_expanded_input_takes_any_batch():
    module = nn.Linear(4, 4)
    found = capture(lambda x: module(x).sum(), (torch.randn(1, 4).expand(3, 4),), modules=module, optimizers=[], costs=Flat())
    batch = torch.randn(3, 4)
    assert torch.equal(replay(found.program, found.graph, load_state(found.program, module_state(module)), [batch])["output"], module(batch).sum())


def test_gradients_of_inputs_are_no_state():
    module = nn.Linear(4, 4)

    def step(x):
        module.zero_grad()
        module(x).square().mean().backward()
        return x.grad

    x = torch.randn(2, 4, requires_grad=True)
    found = capture(step, (x,), modules=module, optimizers=[], costs=Flat())
    assert not found.warnings and x.grad is None
    values = load_state(found.program, module_state(module))
    outputs = replay(found.program, found.graph, values, [x.detach()], runner=Runner(found.program))
    assert torch.equal(outputs["output"], step(x)) and not differing(named_state(found.program, values), module_state(module))
