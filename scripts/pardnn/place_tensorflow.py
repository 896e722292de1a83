"""Placements written into TensorFlow's graphs, and sessions that follow them.

``python -m pardnn.place_tensorflow GRAPHDEF.pb GRAPH.h5 PLACEMENT.h5 -o PLACED.pb`` gives each node its device (``/device:CPU:i``, or
``/device:GPU:i`` with ``--devices gpu``); :func:`placed_session` runs the result.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .capture_common import Report
from .command_line import Parser
from .graph import Graph
from .graph_file import read_graph
from .runtime.placement import Placement, read_placement
from .tensorflow_run.device_names import KINDS, counts, device_names
from .tensorflow_run.errors import PlaceError
from .tensorflow_run.session import placed_session, session_config
from .tensorflow_run.variables import set_variables, variable_values

__all__ = ["PlaceError", "PlacedFunction", "place_file", "place_function", "place_graph_def", "placed_session", "session_config",
           "set_variables", "variable_values"]

_WHOLE_LIMIT = 2**31 - 1  # bytes of a message that protobuf parses


@dataclass
class PlacedFunction:
    """``graph_def``: the placed step, its variables VarHandleOp nodes under their own names.

    ``fetches``: nodes that one call computes, all of them; ``outputs``: the tensors that it returns, in order (nests flattened).
    """

    graph_def: Any
    fetches: list[str]
    outputs: list[str]


def place_graph_def(definition: Any, graph: Graph, placement: Placement, *, kind: str = "cpu", report: Report | None = None) -> Any:
    """A copy of the GraphDef whose nodes have the devices of ``placement``; calls of functions are laid flat as the capture does.

    ``kind``: ``cpu`` or ``gpu``. What the capture left out is placed beside its neighbours and counted in ``report``. Raises PlaceError
    where the GraphDef is not the one that ``graph`` was captured from. O(nodes + edges).
    """
    from .tensorflow_run.calls import has_calls, laid_flat

    report = report or Report()
    placed = type(definition)()
    placed.CopyFrom(laid_flat(definition, report) if has_calls(definition) else definition)
    for node, name in zip(placed.node, _devices(placed, graph, placement, kind, report)):
        node.device = name
    return placed


def place_function(function: Any, args: Sequence[Any], graph: Graph, placement: Placement, *, kind: str = "cpu",
                   report: Report | None = None) -> PlacedFunction:
    """The placed step of a ``tf.function`` traced with ``args`` (or of a ConcreteFunction), as ``capture_function`` captured it.

    Run it by :func:`placed_session`; :func:`set_variables` gives it the variables' values (take those before a ``with`` of the session, which
    ends eager execution).
    """
    from .capture_tensorflow import traced
    from .tensorflow_step.function import flat_function
    from .tensorflow_step.inline import followed

    concrete = traced(function, args)
    flat = flat_function(concrete)
    for node in flat.flat.graph.node:  # a session finds variables by this name, whatever the node's own
        if node.op == "VarHandleOp" and not node.attr["shared_name"].s:
            node.attr["shared_name"].s = node.name.encode()
    outputs = [followed(f"{tensor.op.name}:{tensor.value_index}", flat.flat.renamed) for tensor in concrete.graph.outputs]
    return PlacedFunction(place_graph_def(flat.flat.graph, graph, placement, kind=kind, report=report), flat.fetches, outputs)


def place_file(source: str | os.PathLike[str], graph: Graph, placement: Placement, target: str | os.PathLike[str], *, kind: str = "cpu",
               report: Report | None = None) -> list[str]:
    """Writes the GraphDef file ``source`` with devices to ``target``, atomically; the device of each node written.

    A binary file without calls is streamed: it may be of any size, and only its structure is held. Else it is placed in memory.
    """
    from .tensorflow_run.calls import has_calls
    from .tensorflow_run.graph_def_out import TEXT_ENDINGS, rewrite, write
    from .tensorflow_step.graph_def_file import read_graph_def

    report = report or Report()
    slim = read_graph_def(source)
    text = os.fspath(source).endswith(TEXT_ENDINGS)
    if not (text or has_calls(slim) or os.fspath(target).endswith(TEXT_ENDINGS)):
        names = _devices(slim, graph, placement, kind, report)
        rewrite(source, target, names)
        return names
    placed = place_graph_def(slim if text else _whole(source, type(slim)), graph, placement, kind=kind, report=report)
    write(placed, target)
    return [node.device for node in placed.node]


def _devices(definition: Any, graph: Graph, placement: Placement, kind: str, report: Report) -> list[str]:
    from .tensorflow_run.assign import assign

    return device_names(definition, assign(definition, graph, placement.device, report), kind, report)


def _whole(path: str | os.PathLike[str], message: Any) -> Any:
    size = os.path.getsize(path)
    if size > _WHOLE_LIMIT:
        raise PlaceError(f"{path}: {size} bytes, with calls of functions or to be written as text, which needs it in memory; "
                         f"protobuf takes {_WHOLE_LIMIT} bytes at most")
    return message.FromString(Path(path).read_bytes())


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m pardnn.place_tensorflow", description="Writes a placement into a TensorFlow graph.")
    parser.add_argument("source", metavar="SOURCE", help="the GraphDef that was captured (.pb, .pbtxt), or FILE.py:FUNCTION")
    parser.add_argument("graph", metavar="GRAPH.h5", help="the graph that was captured from it")
    parser.add_argument("placement", metavar="PLACEMENT", help="the graph's placement: .h5, .tsv or .json")
    parser.add_argument("-o", "--output", required=True, metavar="PLACED.pb", help="the GraphDef to write (.pb, or .pbtxt as text)")
    parser.add_argument("--devices", choices=KINDS, default="cpu", help="/device:CPU:i, which are logical devices, or /device:GPU:i (default: %(default)s)")
    parser.add_argument("--count", type=int, metavar="N", help="devices at hand; a placement on more is refused")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 0, or 3 for what the user has to mend."""
    told = _parser().parse_args(arguments)
    try:
        lines = _run(told)
    except ModuleNotFoundError as error:
        print(f"error: {error.name} is not installed; placing a TensorFlow graph needs it (pip install {error.name})", file=sys.stderr)
        return 3
    except (ValueError, OSError) as error:
        print("error: " + "".join(c if c.isprintable() else "?" for c in str(error)), file=sys.stderr)
        return 3
    print("\n".join(lines))
    return 0


def _run(told: argparse.Namespace) -> list[str]:
    if not Path(told.output).absolute().parent.is_dir():
        raise PlaceError(f"{told.output}: its folder does not exist")
    graph = read_graph(told.graph)
    placement = read_placement(told.placement, graph)
    used = int(placement.device.max(initial=-1)) + 1
    if told.count is not None and used > told.count:
        raise PlaceError(f"{told.placement}: uses {used} devices, there are {told.count} (--count)")
    report = Report()
    lines: list[str] = []
    if ".py:" in told.source:
        from .capture_tensorflow import made_function
        from .tensorflow_run.graph_def_out import write

        function, args = made_function(told.source)
        step = place_function(function, args, graph, placement, kind=told.devices, report=report)
        write(step.graph_def, told.output)
        names = [node.device for node in step.graph_def.node]
        lines += [f"fetches   {' '.join(step.fetches)}", f"outputs   {' '.join(step.outputs) or 'none'}"]
    else:
        names = place_file(told.source, graph, placement, told.output, kind=told.devices, report=report)
    return [f"written   {told.output}: {len(names):,} nodes", *(f"device    {name}: {count:,} nodes" for name, count in counts(names)),
            *lines, *(f"note      {line}" for line in report.lines())]


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    sys.exit(main())
