"""Steps that no graph can be made of: one line with the user's file and line and advice, and nothing is written (E20)."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch_step_support import Flat, captured, seeded  # noqa: E402

from pardnn.capture_torch import main  # noqa: E402
from pardnn.torch_step.capture import capture  # noqa: E402
from pardnn.torch_step.errors import CaptureError  # noqa: E402
from pardnn.torch_step.replay import replay  # noqa: E402
from pardnn.torch_step.state import load_state, module_state  # noqa: E402

module = nn.Linear(4, 2)
sparse = nn.Embedding(5, 4, sparse=True)
outside = torch.zeros(2)


def item(x):
    return module(x).sum().item()  # here


def branch(x):
    if module(x).sum() > 3:  # here
        return x
    return -x


def listed(x):
    return module(x).tolist()  # here


def nonzero(x):
    return x[x > 0]  # here


def to_numpy(x):
    return module(x).detach().numpy()  # here


def of_sparse(x):
    sparse(torch.zeros(2, dtype=torch.long)).sum().backward()  # here


def outside_state(x):
    return outside.add_(module(x).sum(0).detach())  # here


def own_generator(x):
    generator = torch.Generator().manual_seed(3)
    return x + torch.rand(4, generator=generator)  # here


def foreign_state(x):
    torch.set_rng_state(state)  # here
    return torch.rand(3)


def own_reference(x):
    return x @ weight.t()  # here


def reads_its_counter(x):
    optimizer = torch.optim.Adagrad(module.parameters())
    module(x).sum().backward()
    optimizer.step()  # here


weight = module.weight
state = torch.get_rng_state()
STEPS = {item: "torch.where", branch: "torch.where", listed: "torch.where", nonzero: "fixed shape", to_numpy: "numpy", of_sparse: "sparse=False",
         outside_state: "buffer", own_generator: "default", foreign_state: "seeded one by one", own_reference: "'module0.weight'",
         reads_its_counter: "torch.optim"}


@pytest.mark.parametrize("step", STEPS, ids=lambda s: s.__name__)
def test_the_line_and_the_advice(step):
    with pytest.raises(CaptureError) as error:
        capture(step, (torch.randn(3, 4),), modules=[module, sparse], optimizers=[], costs=Flat())
    lines, first = inspect.getsourcelines(step)
    place = next(first + i for i, text in enumerate(lines) if "# here" in text)
    assert str(error.value).startswith(f"{__file__}:{place}"), str(error.value)
    assert STEPS[step] in str(error.value) and "\n" not in str(error.value)


def test_a_constant_is_kept_with_a_warning():
    scale = torch.tensor([1.0, 2.0])
    found = capture(lambda x: module(x) * scale, (torch.randn(3, 4),), modules=module, optimizers=[], costs=Flat())
    assert len(found.warnings) == 1 and "constant/0" in found.warnings[0] and __file__ in found.warnings[0]
    constant, = found.program.constants.values()
    assert torch.frombuffer(bytearray(constant.data), dtype=torch.float32).tolist() == [1.0, 2.0]


def test_a_tensor_without_value_is_a_residual_to_be_given():
    large = torch.zeros(1 << 19)
    found = capture(lambda x: x.sum() + large.sum(), (torch.randn(3, 4),), modules=module, optimizers=[], costs=Flat())
    assert [b.name for b in found.program.bindings if b.role == "closure"] == ["closure/0"] and "closure/0" in found.warnings[0]


def test_a_tensor_that_is_an_attribute_has_its_name():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.mask = torch.ones(1 << 19)

        def forward(self, x):
            return x.sum() * self.mask.sum()

    whole = nn.Sequential(Masked())
    found = capture(lambda x: whole(x), (torch.randn(3, 4),), modules=whole, optimizers=[], costs=Flat())
    assert [b.name for b in found.program.bindings] == ["0.mask"] and "'0.mask'" in found.warnings[0]
    x = torch.randn(3, 4)
    assert torch.equal(replay(found.program, found.graph, load_state(found.program, module_state(whole)), [x])["output"], whole(x))


def test_an_optimizer_of_other_parameters_is_refused():
    other = nn.Linear(4, 2)

    def step_fn(x):
        other(x).sum().backward()
        optimizer.step()

    optimizer = torch.optim.Adam(other.parameters())
    with pytest.raises(CaptureError, match="in none of the modules"):
        capture(step_fn, (torch.randn(3, 4),), modules=module, optimizers=optimizer, costs=Flat())


def test_micro_batches_that_do_not_divide_the_batch():
    with pytest.raises(CaptureError, match="3 micro-batches: a batch of 8 samples"):
        captured(seeded("mlp"), micro_batches=3)


MODEL = """
import torch
from torch import nn
from torch.nn import functional as F

def good(width=8):
    return nn.Linear(4, width), lambda m, x, y: F.cross_entropy(m(x), y), (torch.randn(6, 4), torch.randint(0, 3, (6,))), lambda p: torch.optim.Adam(p)

def bad():
    def loss(m, x):
        y = m(x).sum()
        if y > 0:
            y = -y
        return y
    return nn.Linear(4, 3), loss, (torch.randn(6, 4),), lambda p: torch.optim.Adam(p)

def other():
    return 3

def typo():
    return nn.Linear(4, 3), lambda m, x: m(x).summ(), (torch.randn(6, 4),), lambda p: torch.optim.Adam(p)

def shapes():
    return nn.Linear(5, 3), lambda m, x: m(x).sum(), (torch.randn(6, 4),), lambda p: torch.optim.Adam(p)

def builds():
    width = int(torch.rand(3).sum().item())
    return nn.Linear(4, width), lambda m, x: m(x).sum(), (torch.randn(6, 4),), lambda p: torch.optim.Adam(p)
"""


def test_command_line(tmp_path, pardnn_binary):
    (tmp_path / "user_model.py").write_text(MODEL)
    command = (sys.executable, "-m", "pardnn.capture_torch", "user_model.py:good", "-o", "g.h5", "--micro-batches", "2", "--optimizer", "momentum",
               "--clip", "1",
               "--costs", "roofline:V100")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "nodes" in done.stdout and "FLOPs" in done.stdout and "residual" in done.stdout and "dead" in done.stdout
    subprocess.run([pardnn_binary, "validate", "g.h5"], cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.parametrize(("model", "message"), [("user_model.py:bad", "user_model.py:12"), ("user_model.py:other", "expected a Step"),
                                                ("user_model.py:typo", "user_model.py:21: AttributeError"),
                                                ("user_model.py:shapes", "user_model.py:24: the step fails"),
                                                ("user_model.py:builds", "user_model.py:27: user_model.py:builds fails"),
                                                ("user_model.py:none", "no function 'none'"), ("nowhere.py:good", "no such file")])
def test_command_line_errors_are_one_line_and_write_nothing(tmp_path, monkeypatch, capsys, model, message):
    (tmp_path / "user_model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    assert main([model, "-o", "g.h5"]) == 3
    stderr = capsys.readouterr().err
    assert message in stderr and stderr.count("\n") == 1, stderr
    assert [p.name for p in tmp_path.iterdir() if "g.h5" in p.name] == []
