"""From a PyTorch model to a graph file: ``python -m pardnn.capture_torch MODEL.py:function -o graph.h5``.

``function()`` returns a :class:`Step` or (module, loss, inputs, optimizer[, clip]); it is called under fake tensors, so that nothing is computed
and a model of any size is only described. ``capture`` takes a training step of one's own, ``capture_step`` the usual one::

    from pardnn.capture_torch import Step, capture, capture_step

    step = Step(model, lambda m, x, y: cross_entropy(m(x), y), (x, y), lambda p: AdamW(p, lr=1e-3), clip=1.0)
    capture_step(step, "roofline:V100", micro_batches=4).write("graph.h5")

    capture(my_step, (x, y), modules=model, optimizers=optimizer, costs="roofline:V100").write("graph.h5")

The file holds the graph, and the program that runs it (:mod:`pardnn.torch_step.program`, :mod:`pardnn.torch_step.replay`).
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import inspect
import sys
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .torch_step.errors import CaptureError, user_errors, user_place

if TYPE_CHECKING:
    from .torch_step.capture import Capture, capture, capture_step
    from .torch_step.step import Step

__all__ = ["Capture", "CaptureError", "Step", "capture", "capture_step", "main"]

_OPTIMIZERS = {"sgd": ("SGD", {}), "momentum": ("SGD", {"momentum": 0.9}), "adam": ("Adam", {}), "adamw": ("AdamW", {})}


def __getattr__(name: str) -> Any:
    """torch is imported when one of these is first used."""
    if name in ("Capture", "capture", "capture_step"):
        from .torch_step import capture as module

        return getattr(module, name)
    if name == "Step":
        from .torch_step.step import Step

        return Step
    raise AttributeError(f"module {__name__} has no attribute {name}")


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code: 0, or 3 for what the user has to mend."""
    options = _parser().parse_args(arguments)
    try:
        _run(options)
    except KeyboardInterrupt:
        print("pardnn.capture_torch: stopped", file=sys.stderr)
        return 130
    except SystemExit as error:
        return _refuse(f"{options.model}: it ends the program (exit code {error.code}) instead of returning a step")
    except (ValueError, OSError) as error:
        return _refuse(str(error) if isinstance(error, (CaptureError, OSError)) else f"{_where(error)}{error}")
    except Exception as error:
        if user_place(error) is None:
            raise  # not the user's: all of it is wanted
        return _refuse(f"{_where(error)}{type(error).__name__}: {error}")
    return 0


def _where(error: Exception) -> str:
    place = user_place(error)
    return f"{place}: " if place else ""


def _refuse(message: str) -> int:
    print(f"pardnn.capture_torch: {message.strip().splitlines()[0] if message.strip() else 'failed'}", file=sys.stderr)
    return 3


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pardnn.capture_torch", description="Captures a PyTorch training step as a graph.")
    parser.add_argument("model", help="MODEL.py:function, which returns a Step or (module, loss, inputs, optimizer[, clip])")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="arguments",
                        help="an argument of the function (--set layers=4; numbers and other Python literals, else text); may be repeated")
    parser.add_argument("-o", "--output", required=True, help="the graph file to write (HDF5)")
    parser.add_argument("--micro-batches", type=int, default=1, metavar="M", help="split the batch into M with accumulated gradients (1)")
    parser.add_argument("--optimizer", choices=sorted(_OPTIMIZERS), help="instead of the function's own")
    parser.add_argument("--lr", type=float, default=1e-3, help="learning rate of --optimizer (0.001)")
    parser.add_argument("--clip", type=float, help="clip gradients to this norm")
    parser.add_argument("--costs", default="roofline:V100", help="roofline:DEVICE, measured, or trace:FILE (roofline:V100)")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="whose operations are recorded (cpu)")
    parser.add_argument("--name", default="", help="name of the graph (the module's class)")
    return parser


def _run(options: argparse.Namespace) -> None:
    from .costs import cost_model, finish
    from .atomic_file import check_target

    try:
        import torch
    except ImportError as error:
        raise CaptureError(f"PyTorch is not installed ({error})") from error
    from torch._subclasses import FakeTensorMode

    from .torch_step.capture import capture_step
    from .torch_step.conversion import convertible
    from .torch_step.report import report
    from .torch_step.step import as_step

    for option, value in (("--lr", options.lr), ("--clip", options.clip)):
        if value is not None and not (isfinite(value) and value > 0):
            raise CaptureError(f"{option} {value}: expected a positive number")
    check_target(options.output)
    costs = cost_model(options.costs)
    function, arguments = _function(options.model), _arguments(options.arguments)
    _check_arguments(function, arguments, options.model)
    with convertible(), FakeTensorMode(allow_non_fake_inputs=True), user_errors(options.model):
        step = as_step(function(**arguments))
    if options.optimizer:
        kind, settings = _OPTIMIZERS[options.optimizer]
        step.optimizer = lambda parameters: getattr(torch.optim, kind)(parameters, lr=options.lr, **settings)
    if options.clip is not None:
        step.clip = options.clip
    found = capture_step(step, costs, micro_batches=options.micro_batches, device=options.device, name=options.name)
    notes = finish(costs)
    found.write(options.output)
    for line in report(found):
        print(line)
    for note in notes:
        print(f"note       {note}")
    for warning in found.warnings:
        print(f"warning: {warning}", file=sys.stderr)


def _function(text: str) -> Any:
    """The function named ``FILE.py:function``."""
    file, _, name = text.rpartition(":")
    if not file:
        raise CaptureError(f"{text}: expected MODEL.py:function")
    if not Path(file).is_file():
        raise CaptureError(f"{file}: no such file")
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    if spec is None or spec.loader is None:
        raise CaptureError(f"{file}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)
    sys.path.insert(0, str(Path(file).resolve().parent))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise CaptureError(f"{error.filename or file}:{error.lineno or 1}: {error.msg}") from error
    found = getattr(module, name, None)
    if not callable(found):
        raise CaptureError(f"{file}: has no function '{name}'")
    return found


def _arguments(texts: list[str]) -> dict[str, Any]:
    """``["layers=4", "dtype=bfloat16"]`` as arguments: literals where they are such, else text."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise CaptureError(f"--set {text}: expected NAME=VALUE")
        if name in found:
            raise CaptureError(f"--set {text}: {name} is set twice")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name] = value
    return found


def _check_arguments(function: Any, arguments: dict[str, Any], where: str) -> None:
    """One line where the function has no such argument, or needs one that is not set."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(**arguments)
    except TypeError as error:
        raise CaptureError(f"{where}{signature}: {error} (--set NAME=VALUE gives arguments)") from error


if __name__ == "__main__":
    sys.exit(main())
