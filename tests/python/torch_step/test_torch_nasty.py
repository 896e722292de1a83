"""Nasty models and options: one line that says what and where, the exit code, and no file."""

from __future__ import annotations

import math
import os

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from pardnn.capture_torch import Step, main  # noqa: E402
from pardnn.costs import Cost, How, OpCall  # noqa: E402
from pardnn.graph_file import read_graph  # noqa: E402
from pardnn.torch_step.capture import capture, capture_step  # noqa: E402
from pardnn.torch_step.errors import CaptureError  # noqa: E402

MODEL = """
import torch
from torch import nn

def sgd(p):
    return torch.optim.SGD(p, lr=0.1)

def loss(m, x):
    return m(x).square().mean()

def of(module, x=None, optimizer=sgd):
    return module, loss, (torch.randn(4, 4) if x is None else x,), optimizer

class Raises(nn.Linear):
    def forward(self, x):
        raise OSError("no such\\nweights")

class Sparse(nn.Linear):
    def __init__(self):
        super().__init__(4, 4)
        self.register_buffer("graph", torch.eye(4).to_sparse())

def good():
    return of(nn.Linear(4, 4))

def raises():
    return of(Raises(4, 4))

def nothing():
    return of(nn.ReLU())

def two():
    return of(nn.Linear(4, 4), optimizer=lambda p: [sgd([q]) for q in p])

def zero():
    return of(nn.Linear(4, 4), torch.randn(0, 4))

def huge():
    return of(nn.Linear(2**40, 2**30))

def sparse():
    return Sparse(), loss, (torch.randn(4, 4),), sgd

def opens():
    return open("no_such_weights.pt")

def imports():
    import no_such_package

def named(name):
    from pardnn.capture_torch import Step
    return Step(*of(nn.Linear(4, 4)), name=name)
"""
LINES = {
    "raises in forward": (["m.py:raises"], "m.py:16: OSError: no such"),
    "no parameters": (["m.py:nothing"], "ReLU has no parameters: nothing can be trained"),
    "two optimizers": (["m.py:two"], "optimizer: its function returns list"),
    "zero samples": (["m.py:zero"], "a step of 0 samples"),
    "sparse buffer": (["m.py:sparse"], "'graph' is of layout torch.sparse_coo"),
    "too large": (["m.py:huge"], ""),
    "missing file": (["m.py:opens"], "FileNotFoundError"),
    "missing package": (["m.py:imports"], "ModuleNotFoundError: No module named 'no_such_package'"),
    "empty file": (["empty.py:f"], "empty.py: there is no function 'f'"),
    "folder": (["folder.py:f"], "folder.py: a folder"),
    "costs unknown": (["m.py:good", "--costs", "oracle"], "costs 'oracle': unknown"),
    "costs of nothing": (["m.py:good", "--costs", "roofline:V100:compute=1e-300"], "shares from"),
    "cache nowhere": (["m.py:good", "--costs", "measured:cpu:no/such/cache.json"], "no/such/cache.json: its folder does not exist"),
    "cache is a folder": (["m.py:good", "--costs", "measured:cpu:folder.json"], "folder.json: expected the name of a file"),
    "trace is a folder": (["m.py:good", "--costs", "trace:folder.json"], "folder.json: Is a directory"),
    "empty trace": (["m.py:good", "--costs", "trace:empty.py"], "empty.py: byte 0"),
    "argument": (["m.py:good", "--set", "layers=3"], "unexpected keyword argument 'layers'"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "m.py").write_text(MODEL)
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "folder.json").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("arguments", "message"), LINES.values(), ids=LINES)
def test_one_line_and_no_file(folder, capsys, arguments, message):
    assert main([*arguments, "-o", "g.h5"]) == 3
    stderr = capsys.readouterr().err
    assert message in stderr and stderr.startswith("pardnn.capture_torch: ") and stderr.count("\n") == 1, stderr
    assert not os.path.exists("g.h5")


@pytest.mark.parametrize("options", [["--micro-batches", "0"], ["--micro-batches", "1e9"], ["--unknown-cost", "-1"], ["--optimizer", "magic"], ["--lr", "x"]])
def test_wrong_usage(folder, capsys, options):
    with pytest.raises(SystemExit) as stop:
        main(["m.py:good", "-o", "g.h5", *options])
    stderr = capsys.readouterr().err
    assert stop.value.code == 3 and stderr.count("\n") == 1 and options[0] in stderr


def test_names_in_any_script(folder, capsys):
    assert main(["m.py:named", "--set", "name='Größe-模型-\\U0001F600'", "-o", "größe.h5"]) == 0
    assert read_graph("größe.h5").name == "Größe-模型-\U0001F600"
    assert "Größe-模型" in capsys.readouterr().out


class Oracle:
    """A cost model that gives ``ns`` for products and 1 ns for the rest."""

    def __init__(self, ns):
        self.ns = ns

    def cost(self, call: OpCall) -> Cost:
        return Cost(self.ns if "mm" in call.op else 1)


def step(**more):
    return Step(nn.Linear(4, 4), lambda m, x: m(x).square().mean(), (torch.randn(4, 4),), lambda p: torch.optim.SGD(p, lr=0.1), **more)


@pytest.mark.parametrize("ns", [math.nan, math.inf, -5, 2**70])
def test_costs_that_are_no_times(ns):
    with pytest.raises(CaptureError, match="node '.*mm.*': its time is unknown .*--unknown-cost"):
        capture_step(step(), Oracle(ns))
    found = capture_step(step(), Oracle(ns), unknown_ns=70)
    assert found.coverage.unknown == found.coverage.nodes[How.GUESSED] == 2  # forward, and the gradient of the weight
    assert sorted(found.graph.comp.tolist())[-2:] == [70, 70] and "2 unknown times taken as 70 ns" in found.coverage.line()


@pytest.mark.parametrize("samples", [0, -1, 2.5, 1 << 70, "four"])
def test_samples_that_are_no_number(samples):
    with pytest.raises(CaptureError, match="samples"):
        capture_step(step(samples=samples), Oracle(5))


def test_two_optimizers_of_one_step():
    """Each in turn has its own parameters; one that is none is refused."""
    first, second = nn.Linear(4, 4), nn.Linear(4, 4)
    optimizers = [torch.optim.Adam(m.parameters()) for m in (first, second)]

    def both(x):
        for optimizer in optimizers:
            optimizer.zero_grad()
        second(first(x)).square().mean().backward()
        for optimizer in optimizers:
            optimizer.step()

    found = capture(both, (torch.randn(4, 4),), modules=[first, second], optimizers=optimizers, costs=Oracle(5))
    assert {b.slot[0] for b in found.program.bindings if b.role == "optimizer"} == {0, 1}
    with pytest.raises(CaptureError, match="optimizers: expected torch.optim.Optimizer, found Linear"):
        capture(both, (torch.randn(4, 4),), modules=[first, second], optimizers=[first], costs=Oracle(5))


def test_sparse_inputs_are_refused():
    module = nn.Linear(4, 4)
    with pytest.raises(CaptureError, match="input/x: is of layout torch.sparse_coo"):
        capture(lambda x: module.weight.sum() + torch.sparse.sum(x), (torch.eye(4).to_sparse(),), modules=module, optimizers=[], costs=Oracle(5))
