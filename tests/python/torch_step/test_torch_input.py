"""What a careless user gives the capture: wrong types, sizes, files and names are one line and exit code 3, and no file is written."""

import os
import signal
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch_step_support import Flat  # noqa: E402

from pardnn.capture_torch import main  # noqa: E402
from pardnn.graph_file import read_graph  # noqa: E402
from pardnn.torch_step.capture import capture, capture_step  # noqa: E402
from pardnn.torch_step.errors import CaptureError  # noqa: E402
from pardnn.torch_step.step import Step  # noqa: E402


def loss(module, x):
    return module(x).square().mean()


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1)


def step(module=None, function=loss, inputs=None, optimizer=sgd, **more):
    return Step(nn.Linear(4, 4) if module is None else module, function, (torch.randn(4, 4),) if inputs is None else inputs, optimizer, **more)


WRONG = {
    "loss is no function": (lambda: step(function=3), "loss: expected a function"),
    "loss gives a number": (lambda: step(function=lambda m, x: 3.0), "the loss function returns float"),
    "loss gives nothing": (lambda: step(function=lambda m, x: None), "the loss function returns NoneType"),
    "loss is no scalar": (lambda: step(function=lambda m, x: m(x)), r"returns a tensor of shape \[4, 4\]"),
    "loss without gradient": (lambda: step(function=lambda m, x: m(x).mean().detach()), "nothing can be trained"),
    "all frozen": (lambda: step(nn.Linear(4, 4).requires_grad_(False)), "nothing can be trained"),
    "too many inputs": (lambda: step(inputs=(torch.ones(4, 4), 1)), r"loss\(module, x\): called with the module and 2 inputs"),
    "inputs are one tensor": (lambda: step(inputs=torch.ones(4, 4)), "inputs: expected a tuple"),
    "no samples": (lambda: step(inputs=(torch.ones(0, 4),)), "a step of 0 samples"),
    "negative samples": (lambda: step(samples=-3), "a step of -3 samples"),
    "optimizer is missing": (lambda: step(optimizer=None), "optimizer: expected a function of the parameters"),
    "optimizer is one": (lambda: step(optimizer=sgd(nn.Linear(4, 4).parameters())), "optimizer: expected a function .* found SGD"),
    "optimizer gives none": (lambda: step(optimizer=lambda p: 3), "optimizer: its function returns int"),
    "clip is zero": (lambda: step(clip=0.0), "clip: expected a positive number"),
    "clip is text": (lambda: step(clip="x"), "clip: expected a positive number"),
    "TorchScript": (lambda: step(torch.jit.script(nn.Linear(4, 4))), "compiled by TorchScript"),
    "lazy": (lambda: step(nn.Sequential(nn.LazyLinear(4)), optimizer=lambda p: sgd(nn.Linear(1, 1).parameters())), "0: LazyLinear has parameters without"),
}


@pytest.mark.parametrize(("make", "message"), WRONG.values(), ids=WRONG)
def test_what_no_step_can_be_made_of(make, message):
    with pytest.raises(CaptureError, match=message) as error:
        capture_step(make(), Flat())
    assert "\n" not in str(error.value)


def test_modules_and_samples_of_a_step_of_ones_own():
    for arguments, message in (({"modules": 3}, "modules: expected torch.nn.Module, found int"), ({"modules": nn.ReLU(), "samples": 0}, "samples")):
        with pytest.raises(CaptureError, match=message):
            capture(lambda x: x.sum(), (torch.ones(3),), optimizers=[], costs=Flat(), **arguments)


MODEL = """
import sys
import torch
from torch import nn

class Odd(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.add_module(name, nn.Linear(4, 4))
    def forward(self, x):
        return next(self.children())(x)

def sgd(p):
    return torch.optim.SGD(p, lr=0.1)

def step(module):
    return module, lambda m, x: m(x).square().mean(), (torch.randn(4, 4),), sgd

def good():
    return step(nn.Linear(4, 4))

def named():
    from pardnn.capture_torch import Step
    return Step(*step(nn.Linear(4, 4)), name="a\\x00b\\x1b[31m\\n")

def odd():
    return step(Odd("x\\x1b[31m\\ny\\u202e\\ud800<script>"))

def ends():
    sys.exit(7)

def endless():
    print("ready", flush=True)
    while True:
        pass
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "careless_model.py").write_text(MODEL)
    (tmp_path / "syntax.py").write_text("\n\ndef f(:\n")
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe")
    monkeypatch.chdir(tmp_path)
    return tmp_path


GOOD = "careless_model.py:good"
LINES = {"syntax": (["syntax.py:f"], "syntax.py:3: SyntaxError: invalid syntax"), "no text": (["bytes.py:f"], "bytes.py:1: "),
         "sys.exit": (["careless_model.py:ends"], "careless_model.py:ends: it ends the program"), "rate": ([GOOD, "--lr", "nan"], "--lr nan: expected"),
         "clip": ([GOOD, "--clip", "-1"], "--clip -1.0: expected"), "folder missing": ([GOOD, "-o", "no/such/g.h5"], "no/such/g.h5: its folder does not exist"),
         "folder": ([GOOD, "-o", "."], ".: expected the name of a file"), "device": ([GOOD, "-o", "/dev/null"], "/dev/null: expected the name of a file")}


@pytest.mark.parametrize(("arguments", "message"), LINES.values(), ids=LINES)
def test_one_line_and_no_file(folder, capsys, arguments, message):
    before = sorted(os.listdir())
    assert main([*([] if "-o" in arguments else ["-o", "g.h5"]), *arguments]) == 3
    stderr = capsys.readouterr().err
    assert message in stderr and stderr.count("\n") == 1, stderr
    assert [name for name in sorted(os.listdir()) if name != "__pycache__"] == before


def test_hostile_names_are_made_harmless(folder, pardnn_binary):
    for function in ("named", "odd"):
        assert main([f"careless_model.py:{function}", "-o", "g.h5"]) == 0
        graph = read_graph("g.h5")
        assert all(text.isprintable() for text in (graph.name, *graph.names))
        subprocess.run([pardnn_binary, "validate", "g.h5"], check=True, capture_output=True)


def test_a_full_disk_leaves_no_file(folder):
    """A limit on the size of files stands for the disk."""
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n" \
              "import sys; from pardnn.capture_torch import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-B", "-c", limited, GOOD, "-o", "g.h5"], capture_output=True, text=True)
    assert done.returncode == 3 and done.stderr.count("\n") == 1 and done.stderr.startswith("pardnn.capture_torch: "), done.stderr
    assert not [name for name in os.listdir() if "g.h5" in name]


def test_an_interrupt_is_one_line(folder):
    """A shell's background jobs ignore SIGINT, and so would what a test starts there: its default comes back first."""
    process = subprocess.Popen([sys.executable, "-m", "pardnn.capture_torch", "careless_model.py:endless", "-o", "g.h5"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, stderr) == (130, "pardnn.capture_torch: stopped\n")
    assert not [name for name in os.listdir() if "g.h5" in name]
