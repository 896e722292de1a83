"""TensorFlow's GraphDefs and functions as graphs for the partitioner.

``python -m pardnn.capture_tensorflow GRAPH.pb -o graph.h5 --fetch train --profile run_metadata.pb`` or
``python -m pardnn.capture_tensorflow step.py:make -o graph.h5``, where ``make()`` returns ``(function, arguments)``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from .capture_common import CaptureError, Costing, Report
from .capture_common.command import Captured, add_common_options, costing_of, model_named, run
from .capture_common.samples import samples_of
from .capture_common.user_function import call_function
from .command_line import Parser, whole
from .costs import CostModel
from .graph import Graph

if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def capture_graph_def(graph_def: Any, *, fetches: Sequence[str] = (), profile: Any = None, costs: CostModel | str = "roofline:V100",
                      **options: Any) -> Graph:
    """The graph of a GraphDef: a message, or the path of a .pb or .pbtxt file. See :func:`capture_with_report`."""
    return capture_with_report(graph_def, fetches=fetches, profile=profile, costing=Costing(model_named(costs)), **options)[0]


def capture_function(function: Any, *args: Any, profile: Any = None, costs: CostModel | str = "roofline:V100", samples: int | None = None,
                     **options: Any) -> Graph:
    """The graph of one call of a ``tf.function`` (or of a ConcreteFunction without ``args``), traced with ``args`` (tensors or TensorSpecs).

    Nothing runs. Calls are inlined; variables are residuals under their names. ``samples``: of one step, else the arguments' common leading
    dimension. CaptureError with the user's own line where tracing stops.
    """
    return function_with_report(function, args, profile=profile, costing=Costing(model_named(costs)), samples=samples, **options)[0]


def capture_with_report(graph_def: Any, *, costing: Costing, fetches: Sequence[str] = (), profile: Any = None, samples: int | None = None,
                        **options: Any) -> tuple[Graph, Report]:
    """``fetches``: what a step computes; else what ``profile`` saw run; else all. ``profile``: RunMetadata or the path of one.

    ``options``: the other fields of :class:`tensorflow_step.convert.Options`.
    """
    from .tensorflow_step.convert import Options, convert
    from .tensorflow_step.graph_def_file import read_graph_def

    name = "graph"
    if isinstance(graph_def, (str, os.PathLike)):
        name = os.path.basename(os.fspath(graph_def)).rsplit(".", 1)[0]
        definition = read_graph_def(graph_def)
    else:
        definition = type(graph_def)()
        definition.CopyFrom(graph_def)
    options.setdefault("name", name)
    graph, report = convert(definition, costing, Options(fetches=fetches, **options), _profile(profile))
    graph.samples_per_step = samples_of(samples, None, report)
    return graph, report


def function_with_report(function: Any, args: Sequence[Any], *, costing: Costing, profile: Any = None, samples: int | None = None,
                         **options: Any) -> tuple[Graph, Report]:
    """As :func:`capture_function`, with what was counted."""
    from .tensorflow_step.convert import Options, convert_flat
    from .tensorflow_step.function import flat_function

    flat = flat_function(traced(function, args))
    options.setdefault("name", getattr(function, "__name__", "step"))
    graph, report = convert_flat(flat.flat, costing, Options(fetches=flat.fetches, captured=flat.captured, **options), _profile(profile))
    graph.samples_per_step = samples_of(samples, _leading_dimension(args), report)
    return graph, report


def traced(function: Any, args: Sequence[Any]) -> Any:
    if not hasattr(function, "get_concrete_function"):
        if hasattr(function, "captured_inputs"):
            return function
        raise CaptureError(f"{function!r}: expected a tf.function or a ConcreteFunction")
    from .tensorflow_step.user_code import where_and_what

    try:
        return function.get_concrete_function(*args)
    except Exception as error:  # whatever the user's code raises while it is traced
        place, what = where_and_what(error)
        raise CaptureError(f"{place}: tracing stops: {what}; keep Python control flow and NumPy off tensors' values "
                           "(tf.cond, tf.while_loop, tf.where)") from error


def _leading_dimension(args: Sequence[Any]) -> int | None:
    shapes = [a.shape for a in args if hasattr(a, "shape") and getattr(a.shape, "rank", 0) is not None and len(a.shape)]
    leading = {s[0] for s in shapes}
    return leading.pop() if len(leading) == 1 else None


def _profile(profile: Any) -> Any:
    from .tensorflow_step.run_metadata import Profile, profile_of, read_profile

    if profile is None or isinstance(profile, Profile):
        return profile
    return read_profile(profile) if isinstance(profile, (str, os.PathLike)) else profile_of(profile)


def _feed(text: str) -> tuple[str, list[int]]:
    name, separator, shape = text.rpartition("=")
    try:
        if separator and name:
            return name, [whole(0)(size) for size in shape.split("x")] if shape else []
    except argparse.ArgumentTypeError:
        pass  # told below, with the option
    raise CaptureError(f"--feed {text}: expected PLACEHOLDER=32x784")


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m pardnn.capture_tensorflow", description="A TensorFlow graph as a graph file.")
    parser.add_argument("source", metavar="SOURCE", help="GraphDef (.pb, .pbtxt), or FILE.py:FUNCTION that returns (tf.function, arguments)")
    add_common_options(parser)
    parser.add_argument("--profile", metavar="FILE", help="RunMetadata of a step run with FULL_TRACE, serialised")
    parser.add_argument("--fetch", action="append", default=[], metavar="NAME", help="what a step computes (default: what the profile saw, else all)")
    parser.add_argument("--feed", action="append", default=[], metavar="PLACEHOLDER=32x784", help="shape of a placeholder")
    parser.add_argument("--unknown-dim", type=whole(0), metavar="N", help="size of dimensions that stay unknown (default: they are refused)")
    parser.add_argument("--cut-loops", action="store_true", help="cut TF1 while loops at their back edges; each counts for one iteration")
    parser.add_argument("--no-in-place", action="store_true", help="give operations that would overwrite their input a buffer of their own")
    parser.add_argument("--iterations", type=whole(0), default=1, metavar="N", help="iterations of functional While loops (default: 1)")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)

    def captured() -> Captured:
        costing = costing_of(options)
        shared: dict[str, Any] = {"costing": costing, "profile": options.profile, "samples": options.samples, "unknown_dim": options.unknown_dim,
                                  "cut_loops": options.cut_loops, "in_place": not options.no_in_place, "iterations": options.iterations}
        if options.name:
            shared["name"] = options.name
        if ".py:" in options.source:
            function, args = made_function(options.source)
            graph, report = function_with_report(function, args, **shared)
        else:
            feeds = dict(_feed(text) for text in options.feed)
            graph, report = capture_with_report(options.source, fetches=options.fetch, feeds=feeds, **shared)
        return Captured(graph, costing, report)

    return run("pardnn.capture_tensorflow", options.output, captured)


def made_function(spec: str) -> tuple[Any, Sequence[Any]]:
    """The tf.function and its arguments that a user's function returns. Raises CaptureError."""
    made = call_function(spec)
    if not isinstance(made, (tuple, list)) or len(made) != 2 or not isinstance(made[1], (tuple, list)):
        raise CaptureError(f"{spec}: expected it to return (tf.function, arguments), the latter a tuple, found {type(made).__name__}")
    return made[0], made[1]


if __name__ == "__main__":
    sys.exit(main())
