"""A jaxpr laid flat: a list of operations over numbered values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..capture_common import Report
from ..costs import TensorSpec

# Calls whose body takes their place, and the parameters that hold it.
_CALLS = frozenset({"jit", "pjit", "xla_call", "closed_call", "core_call", "core_closed_call", "remat", "remat2", "checkpoint", "custom_jvp_call",
                    "custom_vjp_call", "custom_jvp_call_jaxpr", "custom_vjp_call_jaxpr"})
_BODIES = ("jaxpr", "call_jaxpr", "fun_jaxpr")
# Outputs that are the inputs, one for one.
_PASSES = frozenset({"optimization_barrier"})


class Value(NamedTuple):
    """Output ``output`` of operation ``op``."""

    op: int
    output: int


@dataclass
class Op:
    """``inputs``: values, or None for literals, whose specs are in ``specs`` all the same. ``scope``: the name stack around it."""

    primitive: str
    scope: str
    inputs: list[Value | None]
    specs: list[TensorSpec]
    outputs: list[TensorSpec]
    params: dict[str, Any] = field(default_factory=dict)
    bind: Any = None  # JAX's primitive, for running the operation
    literals: dict[int, Any] = field(default_factory=dict)  # by position among the inputs; a constant's own value at 0


@dataclass
class Program:
    """``arguments``: operations of primitive "argument", one for each input; ``constants`` likewise. ``results``: None for a literal."""

    ops: list[Op]
    arguments: list[int]
    constants: list[int]
    results: list[Value | None]
    result_specs: list[TensorSpec]


def spec_of(aval: Any) -> TensorSpec:
    """Shape, type and size of an abstract value; a random key counts its words."""
    dtype = getattr(aval, "dtype", None)
    if dtype is None:
        return TensorSpec((), "token", 0)
    shape = tuple(int(d) for d in aval.shape)
    return TensorSpec(shape, str(dtype), int(getattr(dtype, "itemsize", 8)))


def program_of(closed: Any, unroll: int, report: Report) -> Program:
    """The flat program of a ClosedJaxpr; scans of at most ``unroll`` iterations are unrolled. O(operations of the flat program)."""
    flat = _Flattener(unroll, report)
    inner = getattr(closed, "jaxpr", closed)
    arguments = [flat.source("argument", spec_of(v.aval)) for v in inner.invars]
    held = getattr(closed, "consts", ())
    constants = [flat.source("constant", spec_of(v.aval), held[i] if held else None) for i, v in enumerate(inner.constvars)]
    results, specs = flat.run(inner, [Value(c, 0) for c in constants], [Value(a, 0) for a in arguments], "")
    return Program(flat.ops, arguments, constants, results, specs)


class _Flattener:
    """Appends the operations of jaxprs; recursion is over their nesting alone."""

    def __init__(self, unroll: int, report: Report) -> None:
        self.ops: list[Op] = []
        self._unroll = unroll
        self._report = report

    def source(self, primitive: str, spec: TensorSpec, value: Any = None) -> int:
        self.ops.append(Op(primitive, "", [], [], [spec], literals={} if value is None else {0: value}))
        return len(self.ops) - 1

    def run(self, jaxpr: Any, constants: Sequence[Value | None], arguments: Sequence[Value | None],
            scope: str) -> tuple[list[Value | None], list[TensorSpec]]:
        """Appends a jaxpr's operations; the values of its results."""
        values: dict[Any, Value | None] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*constants, *arguments)))

        def read(atom: Any) -> Value | None:
            return None if hasattr(atom, "val") else values[atom]

        for eqn in jaxpr.eqns:
            inputs = [read(atom) for atom in eqn.invars]
            values.update(zip(eqn.outvars, self._equation(eqn, inputs, _joined(scope, str(eqn.source_info.name_stack)))))
        return [read(atom) for atom in jaxpr.outvars], [spec_of(atom.aval) for atom in jaxpr.outvars]

    def _equation(self, eqn: Any, inputs: list[Value | None], scope: str) -> list[Value | None]:
        name = eqn.primitive.name
        if name in _PASSES:
            return inputs
        if name in _CALLS:
            self._report.count("calls inlined (jit, remat, custom derivatives)", name)
            inner, constants = body_of(next(eqn.params[p] for p in _BODIES if p in eqn.params))
            called = eqn.params.get("name")
            return self.run(inner, self._constants(constants), inputs, _joined(scope, called if isinstance(called, str) else ""))[0]
        if name == "scan" and int(eqn.params["length"]) <= self._unroll:
            self._report.count("scans unrolled", scope)
            return self._unrolled(eqn, inputs, scope)
        return self._append(Op(name, scope, inputs, [spec_of(a.aval) for a in eqn.invars], [spec_of(v.aval) for v in eqn.outvars], eqn.params, eqn.primitive,
                               {i: a.val for i, a in enumerate(eqn.invars) if hasattr(a, "val")}))

    def _append(self, op: Op) -> list[Value | None]:
        self.ops.append(op)
        return [Value(len(self.ops) - 1, k) for k in range(len(op.outputs))]

    def _constants(self, values: Sequence[Any]) -> list[Value | None]:
        return [Value(self.source("constant", spec_of(v), v), 0) for v in map(_array, values)]

    def _unrolled(self, eqn: Any, inputs: list[Value | None], scope: str) -> list[Value | None]:
        """A scan's body once for each iteration: slices of what it goes over, and a stack of what it collects."""
        params = eqn.params
        body, constants = body_of(params["jaxpr"])
        held = self._constants(constants)
        fixed, carried = int(params["num_consts"]), int(params["num_carry"])
        carry = inputs[fixed:fixed + carried]
        over = list(zip(inputs[fixed + carried:], (spec_of(a.aval) for a in eqn.invars[fixed + carried:])))
        length = int(params["length"])
        collected: list[list[Value | None]] = [[] for _ in body.outvars[carried:]]
        for step in reversed(range(length)) if params["reverse"] else range(length):
            here = _joined(scope, f"iteration{step}")
            slices = [self._slice(value, spec, here) for value, spec in over]
            results, _ = self.run(body, held, [*inputs[:fixed], *carry, *slices], here)
            carry = results[:carried]
            for pieces, result in zip(collected, results[carried:]):
                pieces.append(result)
        stacks = [self._stack(pieces[::-1] if params["reverse"] else pieces, spec_of(v.aval), scope)
                  for pieces, v in zip(collected, eqn.outvars[carried:])]
        return [*carry, *stacks]

    def _slice(self, value: Value | None, spec: TensorSpec, scope: str) -> Value | None:
        if value is None:
            return None
        return self._append(Op("scan_slice", scope, [value], [spec], [TensorSpec(spec.shape[1:], spec.dtype, spec.itemsize)]))[0]

    def _stack(self, pieces: list[Value | None], spec: TensorSpec, scope: str) -> Value | None:
        piece = TensorSpec(spec.shape[1:], spec.dtype, spec.itemsize)
        return self._append(Op("scan_stack", scope, pieces, [piece] * len(pieces), [spec]))[0]


def _array(value: Any) -> Any:
    import numpy as np

    return value if hasattr(value, "dtype") else np.asarray(value)


def body_of(body: Any) -> tuple[Any, Sequence[Any]]:
    """The jaxpr and the constants of a ClosedJaxpr or a Jaxpr."""
    return (body.jaxpr, body.consts) if hasattr(body, "jaxpr") else (body, ())


def _joined(*parts: str) -> str:
    return "/".join(part for part in parts if part)
