"""ONNX models as graphs for the partitioner: ``python -m pardnn.capture_onnx MODEL.onnx --dim batch=8 -o graph.h5``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .capture_common import CaptureError, Costing, Report
from .capture_common.command import add_common_options, costing_of, model_named, run
from .costs import CostModel
from .graph import Graph


def capture(model: Any, *, dims: Mapping[str, int] | None = None, costs: CostModel | str = "roofline:V100", unknown_dim: int | None = None,
            iterations: int = 1, samples: int = 1, name: str = "") -> Graph:
    """The graph of an ONNX model: a ModelProto, or the path of a file. Weights are not needed, only their shapes.

    ``dims``: sizes of symbolic dimensions. Initializers and constants are residuals; Reshape and its like are aliases. What the body of a
    Loop, If or Scan reads from outside goes into that node. CaptureError says what can't be captured.
    """
    from .onnx_model.convert import Options

    costing = Costing(model_named(costs) if isinstance(costs, str) else costs)
    return _captured(model, dims or {}, costing, Options(unknown_dim, iterations, samples, name)).graph


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
    if not separator or not name or not size.isdigit():
        raise CaptureError(f"--dim {text}: expected NAME=SIZE")
    return name, int(size)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pardnn.capture_onnx", description="An ONNX model as a graph file.")
    parser.add_argument("model", metavar="MODEL.onnx", help="the model; external data need not be there")
    add_common_options(parser)
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE", help="size of a symbolic dimension, or of x[0] without a name")
    parser.add_argument("--unknown-dim", type=int, metavar="N", help="size of dimensions that stay unknown (default: they are refused)")
    parser.add_argument("--iterations", type=int, default=1, metavar="N", help="iterations of loops whose trip count is no constant (default: 1)")
    parser.add_argument("--mapping", metavar="FILE.tsv", help="also write which node of the graph is what in the model")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)

    def captured() -> tuple[Graph, Costing, Report, dict[str, bytes]]:
        from .onnx_model.convert import Options

        costing = costing_of(options)
        dims = dict(_dim(text) for text in options.dim)
        result = _captured(options.model, dims, costing, Options(options.unknown_dim, options.iterations, options.samples or 1, options.name or ""))
        if options.mapping:
            Path(options.mapping).write_text(result.mapping, encoding="utf-8")
        return result.graph, costing, result.report, {"onnx_nodes": result.mapping.encode()}

    return run(captured, options.output)


if __name__ == "__main__":
    sys.exit(main())
