"""A program is a file's word until it is held against its graph: references, geometries and sizes are checked here, once, before anything runs.

Operations are checked where they are looked up (:func:`pardnn.torch_step.operators.resolve`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..graph import Graph
from .errors import ProgramError
from .program import Program
from .values import Atom, Ref, Spec

_SIZES = {1: ("bool", "uint8", "int8", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "quint8", "qint8"),
          2: ("float16", "bfloat16", "int16", "uint16"), 4: ("float32", "int32", "uint32", "complex32", "qint32"),
          8: ("float64", "int64", "uint64", "complex64"), 16: ("complex128",)}
_BYTES = {name: size for size, names in _SIZES.items() for name in names}
_ATOMS = {"dtype": frozenset(_BYTES), "layout": frozenset({"strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"}),
          "memory_format": frozenset({"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"})}
_ROLES = frozenset({"parameter", "buffer", "optimizer", "rate", "gradient", "closure"})


def check_program(program: Program, graph: Graph) -> None:
    """Raises ProgramError, one line, on the first thing that is wrong. O(V + E)."""
    if len(program.calls) != graph.num_nodes:
        raise ProgramError(f"it has {len(program.calls)} nodes, the graph {graph.num_nodes}")
    if program.device not in ("cpu", "cuda") or type(program.micro_batches) is not int or program.micro_batches < 1 or not isinstance(program.settings, dict):
        raise ProgramError(f"device {program.device!r}, {program.micro_batches!r} micro-batches: expected cpu or cuda, and a positive number")
    _check_specs(program)
    _check_given(program, graph)
    _check_calls(program, graph)
    for name, ref in program.outputs:
        if not isinstance(name, str) or not _exists(program, ref):
            raise ProgramError(f"output '{name}' is {_words(ref)}, which is no value")


def _check_specs(program: Program) -> None:
    """Geometries are whole numbers that are not negative, of a known type."""
    seen: set[int] = set()
    for spec in _specs(program):
        if id(spec) in seen:
            continue
        seen.add(id(spec))
        numbers = (*spec.shape, *spec.strides, spec.offset)
        if len(spec.shape) != len(spec.strides) or not all(type(n) is int and 0 <= n < 1 << 62 for n in numbers):
            raise ProgramError(f"a tensor of shape {list(spec.shape)}, strides {list(spec.strides)}, offset {spec.offset}: expected whole numbers from 0 on")
        if _BYTES.get(spec.dtype) != spec.itemsize or spec.lazy not in ("", "c", "n", "cn"):
            raise ProgramError(f"a tensor of type {spec.dtype!r}, {spec.itemsize!r} bytes, {spec.lazy!r}: there is no such type")


def _specs(program: Program) -> Iterable[Spec]:
    for call in program.calls:
        if call is not None:
            yield from (s for s in call.outputs if s is not None)
            yield from (s for _, s in call.extras)
    yield from (b.spec for b in program.bindings)
    yield from (i.spec for i in program.inputs)
    yield from (c.spec for c in program.constants.values())


def _check_given(program: Program, graph: Graph) -> None:
    """Residuals, inputs and constants are nodes without a call, and no larger than their memory."""
    for what, item in (*(("state", b) for b in program.bindings), *(("input", i) for i in program.inputs)):
        _check_empty(program, item.ref, f"{what} '{item.name}'")  # type: ignore[attr-defined]
        _check_room(item.spec, int(graph.mem[item.ref.node]), f"{what} '{item.name}'")  # type: ignore[attr-defined]
    for node, constant in program.constants.items():
        _check_empty(program, Ref(node, 0), f"constant {node}")
        _check_room(constant.spec, len(constant.data), f"constant {node}")
        if len(constant.data) % constant.spec.itemsize:
            raise ProgramError(f"constant {node}: {len(constant.data)} bytes are no whole number of {constant.spec.dtype}")
    for b in program.bindings:
        if not isinstance(b.name, str) or b.role not in _ROLES or not (b.slot is None or _is_slot(b.slot)):
            raise ProgramError(f"state {b.name!r}: role {b.role!r}, slot {b.slot!r}: there is no such state")
        if b.initial is not None and not isinstance(b.initial, (int, float)):
            raise ProgramError(f"state '{b.name}': initial value {b.initial!r} is no number")
    for i in program.inputs:
        if not all(type(n) is int for n in (i.index, i.part, i.parts)) or not (0 <= i.part < i.parts and 0 <= i.index):
            raise ProgramError(f"input '{i.name}': part {i.part!r} of {i.parts!r} of input {i.index!r}: there is no such part")


def _is_slot(slot: Any) -> bool:
    return len(slot) == 3 and type(slot[0]) is int and slot[0] >= 0 and type(slot[1]) is int and slot[1] >= 0 and isinstance(slot[2], str)


def _check_empty(program: Program, ref: Ref, what: str) -> None:
    if not _is_ref(ref) or not 0 <= ref.node < len(program.calls) or program.calls[ref.node] is not None:
        raise ProgramError(f"{what}: is {_words(ref)}, expected a node without a call")


def _check_room(spec: Spec, room: int, what: str) -> None:
    needed = (spec.offset + spec.span) * spec.itemsize if spec.span else 0
    if needed > room:
        raise ProgramError(f"{what}: needs {needed} bytes, its node has {room}")


def _check_calls(program: Program, graph: Graph) -> None:
    """Every value that a node reads is one, and the graph has the edge: else no order of the graph would be safe."""
    edges = set((graph.source * graph.num_nodes + graph.target).tolist())
    for node, call in enumerate(program.calls):
        if call is None:
            continue
        if not isinstance(call.op, str) or type(call.random) is not int:
            raise ProgramError(f"node {node} ({graph.names[node]}): operation {call.op!r}, random call {call.random!r}")
        _check_atoms((call.args, tuple(call.kwargs.values())), node)
        reads = call.reads()
        for ref in reads:
            exists = _exists(program, ref)
            if not exists or ref.node * graph.num_nodes + node not in edges:
                raise ProgramError(f"node {node} ({graph.names[node]}) reads {_words(ref)}, {'without an edge' if exists else 'which is no value'}")
        for ref, _ in call.extras:
            if ref not in reads:
                raise ProgramError(f"node {node} ({graph.names[node]}) has an output over {_words(ref)}, which it does not read")


def _check_atoms(values: tuple[Any, ...], node: int) -> None:
    stack: list[Any] = [*values]
    while stack:
        value = stack.pop()
        if isinstance(value, Atom):
            known = _ATOMS.get(value.kind)
            if not isinstance(value.text, str) or (value.text not in known if known is not None else not _is_plain(value)):
                raise ProgramError(f"node {node}: an argument {value.kind} {value.text!r}: there is no such value")
        elif isinstance(value, tuple) and not isinstance(value, Ref):
            stack.extend(value)


def _is_plain(atom: Atom) -> bool:
    if atom.kind == "device":
        return atom.text.isidentifier()
    if atom.kind != "complex":
        return False
    try:
        return len([float(x) for x in atom.text.split()]) == 2
    except ValueError:
        return False


def _is_ref(ref: Ref) -> bool:
    return type(ref.node) is int and type(ref.output) is int and ref.output >= 0


def _exists(program: Program, ref: Ref) -> bool:
    if not _is_ref(ref) or not 0 <= ref.node < len(program.calls):
        return False
    call = program.calls[ref.node]
    if call is None:
        return ref in program.given() or (ref.node in program.constants and ref.output == 0)
    if ref.output < len(call.outputs):
        return call.outputs[ref.output] is not None
    return ref.output < len(call.outputs) + len(call.extras)


def _words(ref: Ref) -> str:
    return f"output {ref.output} of node {ref.node}"
