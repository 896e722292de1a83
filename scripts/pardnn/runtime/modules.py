"""Modules of a captured step: which own tensors, and to which of them operations of the forward pass belong."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..graph import Graph
from ..torch_step.program import Program

_CALL = re.compile(r".*_\d+$")


def owner(name: str) -> str:
    """The module that a tensor's qualified name belongs to."""
    return name.rpartition(".")[0]


def prefixes(path: str) -> Iterator[str]:
    """The path and all that it lies in, longest first; the root ("") last."""
    while path:
        yield path
        path = owner(path)
    yield ""


def tensor_names(program: Program) -> dict[str, int]:
    """Node of each parameter and buffer by name, tied ones under each of their names."""
    return {b.name: b.ref.node for b in program.bindings if b.role in ("parameter", "buffer")}


def forward_modules(program: Program, graph: Graph) -> dict[int, str]:
    """The module of each operation of the forward pass ("" outside all), by node in id order."""
    part = re.compile(r"^mb\d+\.") if program.micro_batches > 1 else None
    found: dict[int, str] = {}
    for node, call in enumerate(program.calls):
        name = graph.names[node]
        if call is None or name.startswith(("grad/", "opt/", "opt.")):
            continue
        parts = (part.sub("", name) if part else name).split("#")[0].split(".")
        while parts and not _CALL.match(parts[-1]):
            parts.pop()
        found[node] = ".".join(parts[:-1])
    return found
