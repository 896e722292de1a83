"""The program of a graph: what to run for each node. Kept as JSON inside the graph file (dataset ``/program``), bound to its graph.

A node is a residual (its tensor is given), an input (given), a constant (its value is in the program) or a call. References ``(node, output)``
name values; output numbers from ``len(outputs)`` on are *extra* outputs: tensors that are older than the node and share the memory that it
writes, as they are after the write. They are told by their geometry over the storage of one of the node's arguments.
"""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from ..graph import Graph
from ..graph_file import read_extra, read_graph
from .errors import ProgramError
from .values import Atom, Ref, Spec, refs_in

VERSION = 1
DATASET = "program"


@dataclass
class Call:
    """An ATen call: ``op`` is qualified with its overload; ``args`` and ``kwargs`` hold plain values, :class:`Atom` and :class:`Ref`.

    ``outputs``: geometry of each output (None: no tensor). ``extras``: (value whose storage is meant, geometry). ``random``: number of the
    random call in the order of the eager step, -1 if it draws nothing. ``writes``: whether arguments are written, so that it runs in place.
    """

    op: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: tuple[Spec | None, ...]
    extras: tuple[tuple[Ref, Spec], ...] = ()
    random: int = -1

    def reads(self) -> list[Ref]:
        """All values that the call needs, each once."""
        return list(dict.fromkeys([*refs_in(self.args), *refs_in(self.kwargs)]))


@dataclass
class Binding:
    """A tensor that lives across steps, under one of its names (tied names have the same ``ref``).

    ``role``: ``parameter``, ``buffer``, ``optimizer``, ``rate`` (a tensor among an optimizer's settings), ``gradient`` (one that the step does not
    begin by dropping) or ``closure`` (any other tensor that the step finds). ``slot``: for optimizer state (optimizer, number of the parameter in its
    ``state_dict``, key). ``initial``: the number that fills it before the first step, None where that is no single number (parameters, buffers).
    """

    name: str
    ref: Ref
    role: str
    spec: Spec
    slot: tuple[int, int, str] | None = None
    initial: float | None = None


@dataclass
class InputSlot:
    """An input node: rows ``part`` of ``parts`` (along dimension 0) of the step's input number ``index``."""

    name: str
    ref: Ref
    index: int
    part: int
    parts: int
    spec: Spec


@dataclass
class Constant:
    """Content of a constant's whole storage, as bytes."""

    spec: Spec
    data: bytes


@dataclass
class Program:
    """``calls``: one per node, None for residuals, inputs and constants. ``outputs``: what the step returns, by name."""

    calls: list[Call | None]
    bindings: list[Binding]
    inputs: list[InputSlot]
    constants: dict[int, Constant]
    outputs: list[tuple[str, Ref]]
    micro_batches: int = 1
    device: str = "cpu"
    torch_version: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    graph: dict[str, Any] = field(default_factory=dict)

    def spec(self, ref: Ref) -> Spec:
        """Geometry of a value."""
        call = self.calls[ref.node]
        if call is not None:
            found = call.outputs[ref.output] if ref.output < len(call.outputs) else call.extras[ref.output - len(call.outputs)][1]
            if found is None:
                raise ProgramError(f"output {ref.output} of node {ref.node} ({call.op}) is no tensor")
            return found
        if ref.node in self.constants:
            return self.constants[ref.node].spec
        return self.given()[ref]

    def given(self) -> dict[Ref, Spec]:
        """Geometry of the values of residuals and inputs."""
        known: dict[Ref, Spec] | None = self.__dict__.get("_given_specs")
        if known is None:
            known = {b.ref: b.spec for b in self.bindings} | {i.ref: i.spec for i in self.inputs}
            self.__dict__["_given_specs"] = known
        return known

    @property
    def random_nodes(self) -> list[int]:
        return [n for n, call in enumerate(self.calls) if call is not None and call.random >= 0]


def fingerprint(graph: Graph) -> dict[str, Any]:
    """What ties a program to its graph: counts and names. Costs and placements may change without it."""
    import hashlib

    digest = hashlib.blake2b("\n".join(graph.names).encode(), digest_size=16).hexdigest()
    return {"nodes": graph.num_nodes, "edges": graph.num_edges, "names": digest}


def dump_program(program: Program, graph: Graph) -> bytes:
    """The program as JSON, bound to ``graph``."""
    table = _Table()
    nodes = [None if c is None else [table.op(c.op), _encode(c.args), {k: _encode(v) for k, v in c.kwargs.items()},
                                     [None if s is None else table.spec(s) for s in c.outputs],
                                     [[*r, table.spec(s)] for r, s in c.extras], c.random] for c in program.calls]
    content = {
        "format": "pardnn-torch-program", "version": VERSION, "torch": program.torch_version, "device": program.device,
        "graph": fingerprint(graph), "micro_batches": program.micro_batches, "settings": program.settings, "nodes": nodes,
        "bindings": [{"name": b.name, "ref": list(b.ref), "role": b.role, "spec": table.spec(b.spec), "slot": b.slot, "initial": _encode(b.initial)}
                     for b in program.bindings],
        "inputs": [{"name": i.name, "ref": list(i.ref), "index": i.index, "part": i.part, "parts": i.parts, "spec": table.spec(i.spec)}
                   for i in program.inputs],
        "constants": [[n, table.spec(c.spec), base64.b64encode(c.data).decode()] for n, c in sorted(program.constants.items())],
        "outputs": [[name, *ref] for name, ref in program.outputs], "ops": list(table.ops), "specs": [list(s) for s in table.specs]}
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()


def load_program(path: str | os.PathLike[str], graph: Graph | None = None) -> tuple[Graph, Program]:
    """The graph and the program of a graph file. Raises ProgramError where there is none or it belongs to another graph."""
    graph = read_graph(path) if graph is None else graph
    raw = read_extra(path, DATASET)
    if raw is None:
        raise ProgramError(f"{path}: holds no program; make the file with python -m pardnn.capture_torch")
    try:
        program = parse_program(raw)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError) as error:
        what = "" if isinstance(error, ValueError) else f"not as expected ({type(error).__name__}): "
        raise ProgramError(f"{path}: /{DATASET}: {what}{error}") from error
    expected = fingerprint(graph)
    if not isinstance(program.graph, dict) or program.graph != expected:
        raise ProgramError(f"{path}: /{DATASET} belongs to another graph: made for {_counts(program.graph)}, "
                           f"the file has {_counts(expected)} (or other names)")
    from .program_check import check_program

    try:
        check_program(program, graph)
    except ProgramError as error:
        raise ProgramError(f"{path}: /{DATASET}: {error}") from error
    return graph, program


def _counts(bound: Any) -> str:
    return f"{bound.get('nodes')} nodes and {bound.get('edges')} edges" if isinstance(bound, dict) else "nothing"


def parse_program(raw: bytes) -> Program:
    """A program from its JSON. Raises ProgramError or ValueError on what is none."""
    content = json.loads(raw)
    if not isinstance(content, dict) or content.get("format") != "pardnn-torch-program":
        raise ProgramError("format is not pardnn-torch-program")
    if content["version"] != VERSION:
        raise ProgramError(f"version {content['version']} of the program is not known (this is version {VERSION})")
    ops = content["ops"]
    specs = [Spec(tuple(shape), tuple(strides), *rest) for shape, strides, *rest in content["specs"]]
    calls = [None if n is None else Call(ops[n[0]], _decode(n[1]), {k: _decode(v) for k, v in n[2].items()},
                                         tuple(None if s is None else specs[s] for s in n[3]),
                                         tuple((Ref(a, b), specs[s]) for a, b, s in n[4]), n[5]) for n in content["nodes"]]
    return Program(
        calls=calls,
        bindings=[Binding(b["name"], Ref(*b["ref"]), b["role"], specs[b["spec"]], None if b["slot"] is None else tuple(b["slot"]),
                          _decode(b["initial"])) for b in content["bindings"]],
        inputs=[InputSlot(i["name"], Ref(*i["ref"]), i["index"], i["part"], i["parts"], specs[i["spec"]]) for i in content["inputs"]],
        constants={n: Constant(specs[s], base64.b64decode(data)) for n, s, data in content["constants"]},
        outputs=[(name, Ref(n, o)) for name, n, o in content["outputs"]], micro_batches=content["micro_batches"], device=content["device"],
        torch_version=content["torch"], settings=content["settings"], graph=content["graph"])


class _Table:
    """Operations and geometries by number: most of them repeat."""

    def __init__(self) -> None:
        self.ops: dict[str, int] = {}
        self.specs: dict[Spec, int] = {}

    def op(self, name: str) -> int:
        return self.ops.setdefault(name, len(self.ops))

    def spec(self, spec: Spec) -> int:
        return self.specs.setdefault(spec, len(self.specs))


def _encode(value: Any) -> Any:
    if isinstance(value, Ref):
        return {"t": list(value)}
    if isinstance(value, Atom):
        return {value.kind: value.text}
    if isinstance(value, tuple):
        return [_encode(v) for v in value]
    if isinstance(value, float) and not isfinite(value):
        return {"float": repr(value)}
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decode(v) for v in value)
    if isinstance(value, dict):
        (kind, text), = value.items()
        return Ref(*text) if kind == "t" else float(text) if kind == "float" else Atom(kind, text)
    return value
