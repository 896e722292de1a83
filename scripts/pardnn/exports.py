"""Placements for other tools: ``python -m pardnn.exports GRAPH.h5 PLACEMENT.h5 --device-map map.json``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from .command_line import Parser
from .graph import Graph
from .graph_file import read_graph
from .runtime.device_map import device_map
from .runtime.errors import RunError
from .runtime.pipeline import pipeline_split
from .runtime.placement import Placement, read_placement
from .atomic_file import write_text
from .torch_step.program import load_program


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code: 0, or 3 for what the user has to mend."""
    told = _parser().parse_args(arguments)
    try:
        for line in _run(told):
            print(line)
    except (ValueError, OSError) as error:
        print(f"pardnn.exports: {error}", file=sys.stderr)
        return 3
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m pardnn.exports", description="Writes a placement in the forms of other tools.")
    parser.add_argument("graph", metavar="GRAPH.h5")
    parser.add_argument("placement", metavar="PLACEMENT", help="its placement: .h5, .tsv or .json")
    parser.add_argument("--key-value", metavar="FILE", help="the paper's file: a line for each node, name<TAB>device")
    parser.add_argument("--device-map", metavar="FILE.json", help="device_map of Hugging Face accelerate: a device for each module; prints what that loses")
    parser.add_argument("--pipeline", metavar="FILE.json", help="split for torch.distributed.pipelining, where the placement is a chain of modules")
    return parser


def _run(told: argparse.Namespace) -> list[str]:
    if not (told.key_value or told.device_map or told.pipeline):
        raise RunError("nothing to write: give --key-value, --device-map or --pipeline")
    graph = read_graph(told.graph)
    placement = read_placement(told.placement, graph)
    lines: list[str] = []
    if told.key_value:
        write_text(told.key_value, key_value(graph, placement))
        lines.append(f"written   {told.key_value}: {graph.num_nodes:,} nodes")
    if not (told.device_map or told.pipeline):
        return lines
    _, program = load_program(told.graph, graph)
    if told.device_map:
        found = device_map(graph, program, placement)
        write_text(told.device_map, json.dumps(found.devices, indent=1) + "\n")
        lines += [f"written   {told.device_map}", *found.lines()]
    if told.pipeline:
        split = pipeline_split(graph, program, placement)
        content = {"split": {name: "beginning" for name in split.begins}, "devices": split.devices}
        write_text(told.pipeline, json.dumps(content, indent=1) + "\n")
        lines.append(f"written   {Path(told.pipeline)}: {len(split.devices)} stages, on devices {', '.join(map(str, split.devices))}")
    return lines


def key_value(graph: Graph, placement: Placement) -> str:
    """The paper's key-value file."""
    return "".join(f"{name}\t{device}\n" for name, device in zip(graph.names, placement.device.tolist()))


if __name__ == "__main__":
    sys.exit(main())
