"""What the command lines of the captures share: options, a cost model by name, one line and exit code 3 for bad input."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from ..atomic_file import check_target, write_text
from ..command_line import WRONG, whole
from ..costs import CostModel, cost_model, finish
from ..graph import Graph, printable
from ..graph_file import write_graph
from .costing import Costing
from .errors import CaptureError
from .report import Report, summary

STOPPED = 130  # exit code after an interrupt


@dataclass
class Captured:
    """What a command line has captured. ``extra``: more datasets of the graph file; ``texts``: more files, by path."""

    graph: Graph
    costing: Costing
    report: Report
    extra: dict[str, bytes] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


def add_common_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", required=True, metavar="GRAPH.h5", help="the graph file to write")
    parser.add_argument("--costs", default="roofline:V100", metavar="MODEL", help="cost model of what is not measured (default: %(default)s)")
    add_unknown_cost(parser)
    parser.add_argument("--samples", type=whole(1), metavar="N", help="training samples that one step processes")
    parser.add_argument("--name", help="the graph's name")


def add_unknown_cost(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--unknown-cost", type=whole(0), metavar="NS", help="time of a node whose time is unknown; without it such a node is refused")


def costing_of(options: argparse.Namespace) -> Costing:
    return Costing(model_named(options.costs), options.unknown_cost)


def model_named(spec: CostModel | str) -> CostModel:
    """The cost model that ``pardnn.costs`` knows as ``spec``, or ``spec`` itself if it is one."""
    if not isinstance(spec, str):
        return spec
    try:
        return cost_model(spec)
    except ValueError as error:
        raise CaptureError(str(error)) from error


def run(module: str, output: str, capture: Callable[[], Captured]) -> int:
    """Captures, writes the graph file, prints the summary. Exit code: see :func:`guarded`; no file is written where it is not 0."""
    def work() -> None:
        check_target(output)
        found = capture()
        for path in found.texts:
            check_target(path)
        notes = account(found.costing)
        lines = summary(found.graph, found.costing, found.report) + [f"note      {note}" for note in notes]
        write_graph(output, found.graph, found.extra)
        for path, text in found.texts.items():
            write_text(path, text)
        print("\n".join(map(printable, lines)))

    return guarded(module, work)


def guarded(module: str, work: Callable[[], None]) -> int:
    """Exit code of ``work``: 0; 3 with one line on standard error for what the user has to mend; 130 after an interrupt."""
    try:
        work()
    except KeyboardInterrupt:
        print(f"{module}: stopped", file=sys.stderr)
        return STOPPED
    except ModuleNotFoundError as error:
        return refused(module, f"{error.name} is not installed; this capture needs it (pip install {error.name})")
    except (CaptureError, OSError) as error:
        return refused(module, str(error))
    return 0


def refused(module: str, message: str) -> int:
    """Prints a line; the exit code for what the user has to mend."""
    print(f"{module}: {printable(message.strip()) or 'failed'}", file=sys.stderr)
    return WRONG


def account(costing: Costing) -> list[str]:
    """What the cost model itself has to say at the end. CaptureError where it knew none of the operations."""
    try:
        return finish(costing.model)
    except ValueError as error:
        raise CaptureError(str(error)) from error
