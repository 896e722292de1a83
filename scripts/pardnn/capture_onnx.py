"""ONNX models as graphs for the partitioner: ``python -m pardnn.capture_onnx MODEL.onnx --dim batch=8 -o graph.h5``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .capture_common import CaptureError, Costing
from .capture_common.command import Captured, add_common_options, costing_of, model_named, run
from .command_line import Parser, whole
from .costs import CostModel
from .graph import Graph


def capture(model: Any, *, dims: Mapping[str, int] | None = None, costs: CostModel | str = "roofline:V100", unknown_dim: int | None = None,
            iterations: int = 1, samples: int | None = None, name: str = "") -> Graph:
    """The graph of an ONNX model: a ModelProto, or the path of a file. Weights are not needed, only their shapes.

    ``dims``: sizes of symbolic dimensions. Initializers and constants are residuals; Reshape and its like are aliases. What the body of a
    Loop, If or Scan reads from outside goes into that node. CaptureError says what can't be captured.
    """
    from .onnx_model.convert import Options

    return _captured(model, dims or {}, Costing(model_named(costs)), Options(unknown_dim, iterations, samples, name)).graph


def _captured(model: Any, dims: Mapping[str, int], costing: Costing, options: Any) -> Any:
    from .onnx_model.convert import convert
    from .onnx_model.model_file import prepared, read_model

    if isinstance(model, (str, os.PathLike)):
        options.name = options.name or Path(model).stem
        message = read_model(model)
    else:
        options.name = options.name or model.graph.name or "model"
        message = type(model)()
        message.CopyFrom(model)
    return convert(prepared(message, dims), costing, options)


def _dim(text: str) -> tuple[str, int]:
    name, separator, size = text.rpartition("=")
    try:
        if separator and name:
            return name, whole(0)(size)
    except argparse.ArgumentTypeError:
        pass  # told below, with the option
    raise CaptureError(f"--dim {text}: expected NAME=SIZE")


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m pardnn.capture_onnx", description="An ONNX model as a graph file.")
    parser.add_argument("model", metavar="MODEL.onnx", help="the model; external data need not be there")
    add_common_options(parser)
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE", help="size of a symbolic dimension, or of x[0] without a name")
    parser.add_argument("--unknown-dim", type=whole(0), metavar="N", help="size of dimensions that stay unknown (default: they are refused)")
    parser.add_argument("--iterations", type=whole(0), default=1, metavar="N", help="iterations of loops whose trip count is no constant (default: 1)")
    parser.add_argument("--mapping", metavar="FILE.tsv", help="also write which node of the graph is what in the model")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)

    def captured() -> Captured:
        from .onnx_model.convert import Options

        costing = costing_of(options)
        dims = dict(_dim(text) for text in options.dim)
        result = _captured(options.model, dims, costing, Options(options.unknown_dim, options.iterations, options.samples, options.name or ""))
        texts = {options.mapping: result.mapping} if options.mapping else {}
        return Captured(result.graph, costing, result.report, {"onnx_nodes": result.mapping.encode()}, texts)

    return run("pardnn.capture_onnx", options.output, captured)


if __name__ == "__main__":
    sys.exit(main())
