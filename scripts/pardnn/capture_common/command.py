"""What the command lines of the captures share: options, a cost model by name, one line and exit code 3 for bad input."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from ..costs import CostModel
from ..graph import Graph
from ..graph_file import write_graph
from .costing import Costing
from .errors import CaptureError
from .report import Report, summary


def add_common_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", required=True, metavar="GRAPH.h5", help="the graph file to write")
    parser.add_argument("--costs", default="roofline:V100", metavar="MODEL", help="cost model of what is not measured (default: %(default)s)")
    parser.add_argument("--unknown-cost", type=int, metavar="NS", help="time of a node whose time is unknown; without it such a node is refused")
    parser.add_argument("--samples", type=int, metavar="N", help="training samples that one step processes")
    parser.add_argument("--name", help="the graph's name")


def costing_of(options: argparse.Namespace) -> Costing:
    return Costing(model_named(options.costs), options.unknown_cost)


def model_named(spec: str) -> CostModel:
    """The cost model that ``pardnn.costs`` knows as ``spec``."""
    from .. import costs

    try:
        return costs.cost_model(spec)
    except ValueError as error:
        raise CaptureError(str(error)) from error


def run(capture: Callable[[], tuple[Graph, Costing, Report, dict[str, bytes]]], output: str) -> int:
    """Captures, writes the graph file, prints the summary. Exit code: 0, or 3 with one line on standard error and no file."""
    try:
        if not Path(output).absolute().parent.is_dir():
            raise CaptureError(f"{output}: its folder does not exist")
        graph, costing, report, extra = capture()
        notes = _account(costing)
        write_graph(output, graph, extra)
    except ModuleNotFoundError as error:
        print(f"error: {error.name} is not installed; this capture needs it (pip install {error.name})", file=sys.stderr)
        return 3
    except (CaptureError, OSError) as error:
        print("error: " + "".join(c if c.isprintable() else "?" for c in str(error)), file=sys.stderr)
        return 3
    print("\n".join([*summary(graph, costing, report), *(f"note      {note}" for note in notes)]))
    return 0


def _account(costing: Costing) -> list[str]:
    """What the cost model itself has to say at the end; an error where it knew none of the operations."""
    from .. import costs

    try:
        return costs.finish(costing.model)
    except ValueError as error:
        raise CaptureError(str(error)) from error


def load_function(spec: str) -> Callable[..., Any]:
    """The function that ``FILE.py:NAME`` names, from the user's file."""
    path, separator, name = spec.rpartition(":")
    if not separator or not path.endswith(".py"):
        raise CaptureError(f"'{spec}': expected FILE.py:FUNCTION")
    module = _load(path)
    function = getattr(module, name, None)
    if not callable(function):
        raise CaptureError(f"{path}: there is no function '{name}'")
    return function


def _load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise CaptureError(f"{path}: no such file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(Path(path).absolute().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise CaptureError(f"{place_of(error, path)}: {first_line(error)}") from error
    finally:
        sys.path.pop(0)
    return module


def place_of(error: BaseException, where: str = "", outside: tuple[str, ...] = ()) -> str:
    """``file:line`` of the user's own code nearest to where ``error`` was raised: neither this package, nor a library's, nor ``outside``."""
    skipped = (os.path.dirname(os.path.dirname(os.path.abspath(__file__))), *outside)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        name = os.path.abspath(frame.filename)
        if os.path.isfile(name) and "site-packages" not in name and not name.startswith((*skipped, os.path.dirname(os.__file__))):
            return f"{os.path.relpath(name)}:{frame.lineno}" + (f" ({frame.line})" if frame.line else "")
    return where or "the step"


def first_line(error: BaseException) -> str:
    """The error's own first line that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
