"""Training steps of JAX as graphs for the partitioner.

``python -m pardnn.capture_jax step.py:make -o graph.h5``, where ``make()`` returns ``(step, state, *batch)``: a function (jitted or not) that
takes the state and a batch and returns the new state, alone or first in a tuple; arrays or ``jax.ShapeDtypeStruct``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from .capture_common import CaptureError, Costing, Report
from .capture_common.command import Captured, add_common_options, costing_of, model_named, run
from .capture_common.user_function import call_function
from .command_line import Parser, whole
from .costs import CostModel
from .graph import Graph

if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")


def capture_step(step: Callable[..., Any], state: Any, *batch: Any, costs: CostModel | str = "roofline:V100", unroll: int = 0, iterations: int = 1,
                 samples: int | None = None, name: str = "") -> Graph:
    """The graph of ``step(state, *batch)``, traced on shapes: nothing runs, nothing is allocated.

    Leaves of ``state`` are residuals, taken as donated: the operation that makes a leaf's new value writes it over the old one, or a node
    ``update/LEAF`` after it does. ``unroll``: scans of at most so many iterations are unrolled, others are one node. ``samples``: of one step,
    else the batch's leading dimension. XLA fuses what is apart here: memory and time of element-by-element chains are upper bounds.
    """
    return step_with_report(step, state, batch, costing=Costing(model_named(costs)), unroll=unroll, iterations=iterations, samples=samples, name=name)[0]


def step_with_report(step: Callable[..., Any], state: Any, batch: Sequence[Any], *, costing: Costing, name: str = "",
                     **options: Any) -> tuple[Graph, Report]:
    """As :func:`capture_step`, with what was counted."""
    from .jax_step.convert import Options, convert
    from .jax_step.state import traced

    if not callable(step):
        raise CaptureError(f"{step!r}: expected a function of the state and a batch")
    return convert(traced(step, state, batch), costing, Options(name=name or getattr(step, "__name__", "step"), **options))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m pardnn.capture_jax", description="A JAX training step as a graph file.")
    parser.add_argument("source", metavar="FILE.py:FUNCTION", help="a function that returns (step, state, *batch)")
    add_common_options(parser)
    parser.add_argument("--unroll", type=whole(0), default=0, metavar="N", help="unroll scans of at most N iterations (default: 0, none)")
    parser.add_argument("--iterations", type=whole(0), default=1, metavar="N", help="iterations of while loops (default: 1)")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)

    def captured() -> Captured:
        costing = costing_of(options)
        step, state, batch = _made(options.source)
        graph, report = step_with_report(step, state, batch, costing=costing, unroll=options.unroll, iterations=options.iterations,
                                         samples=options.samples, name=options.name or "")
        return Captured(graph, costing, report)

    return run("pardnn.capture_jax", options.output, captured)


def _made(spec: str) -> tuple[Callable[..., Any], Any, Sequence[Any]]:
    made = call_function(spec)
    if not isinstance(made, (tuple, list)) or len(made) < 2:
        raise CaptureError(f"{spec}: expected it to return (step, state, *batch), found {type(made).__name__}"
                           + (f" of {len(made)}" if isinstance(made, (tuple, list)) else ""))
    step, state, *batch = made
    return step, state, batch


if __name__ == "__main__":
    sys.exit(main())
