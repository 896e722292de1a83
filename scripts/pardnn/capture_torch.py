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
import sys
from math import isfinite
from typing import TYPE_CHECKING, Any

from .atomic_file import check_target
from .capture_common.command import add_unknown_cost, guarded, model_named
from .capture_common.places import first_line
from .capture_common.user_function import check_arguments, ends, load_function, settings
from .command_line import Parser, whole
from .costs import finish
from .graph import printable
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

    def work() -> None:
        try:
            _run(options)
        except CaptureError:
            raise
        except SystemExit as error:
            raise CaptureError(ends(options.model, error)) from error
        except Exception as error:
            place = user_place(error)
            if place is not None:
                raise CaptureError(f"{place}: {first_line(error)}") from error
            if isinstance(error, ValueError):
                raise CaptureError(str(error)) from error
            raise  # the file system's, or not the user's: then all of it is wanted

    return guarded("pardnn.capture_torch", work)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m pardnn.capture_torch", description="Captures a PyTorch training step as a graph.")
    parser.add_argument("model", help="MODEL.py:function, which returns a Step or (module, loss, inputs, optimizer[, clip])")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="arguments",
                        help="an argument of the function (--set layers=4; numbers and other Python literals, else text); may be repeated")
    parser.add_argument("-o", "--output", required=True, help="the graph file to write (HDF5)")
    parser.add_argument("--micro-batches", type=whole(1), default=1, metavar="M", help="split the batch into M with accumulated gradients (1)")
    parser.add_argument("--optimizer", choices=sorted(_OPTIMIZERS), help="instead of the function's own")
    parser.add_argument("--lr", type=float, default=1e-3, help="learning rate of --optimizer (0.001)")
    parser.add_argument("--clip", type=float, help="clip gradients to this norm")
    parser.add_argument("--costs", default="roofline:V100", help="roofline:DEVICE, measured, or trace:FILE (roofline:V100)")
    add_unknown_cost(parser)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="whose operations are recorded (cpu)")
    parser.add_argument("--name", default="", help="name of the graph (the module's class)")
    return parser


def _run(options: argparse.Namespace) -> None:
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
    costs = model_named(options.costs)
    function, arguments = load_function(options.model), settings(options.arguments)
    check_arguments(function, arguments, options.model)
    with convertible(), FakeTensorMode(allow_non_fake_inputs=True), user_errors(options.model):
        step = as_step(function(**arguments))
    if options.optimizer:
        kind, more = _OPTIMIZERS[options.optimizer]
        step.optimizer = lambda parameters: getattr(torch.optim, kind)(parameters, lr=options.lr, **more)
    if options.clip is not None:
        step.clip = options.clip
    found = capture_step(step, costs, micro_batches=options.micro_batches, device=options.device, name=options.name,
                         unknown_ns=options.unknown_cost)
    notes = finish(costs)
    found.write(options.output)
    for line in (*report(found), *(f"note       {note}" for note in notes)):
        print(printable(line))
    for warning in found.warnings:
        print(f"warning: {printable(warning)}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
