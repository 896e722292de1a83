"""Costs of operations, those with bodies (scan, while, cond) included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..capture_common import Costing, Report
from ..costs import Cost, How, OpCall
from .flops import flops_of
from .program import Op, body_of, program_of

VIEWS = frozenset({"reshape", "squeeze", "expand_dims", "stop_gradient", "sharding_constraint", "name", "scan_slice", "pvary", "copy_p"})
# Operations of this package, and of JAX's own, by the names of those that do the same.
_KNOWN_AS = {"add_any": "add", "scan_stack": "concatenate", "square": "mul"}
_SOURCES = frozenset({"argument", "constant"})


class Costs:
    """``iterations``: of while loops, whose trip counts no jaxpr tells."""

    def __init__(self, costing: Costing, iterations: int, report: Report) -> None:
        self._costing, self._iterations, self._report = costing, iterations, report

    def of(self, name: str, op: Op, view: bool) -> Cost:
        if op.primitive in ("scan", "while", "cond"):
            return self._costing.tallied(name, self._with_bodies(name, op), f"jax::{op.primitive}")
        return self._costing.modelled(name, call_of(op, view))

    def _with_bodies(self, name: str, op: Op) -> Cost:
        if op.primitive == "cond":
            self._report.count("cond operations taken as their dearest branch", name)
            return max((self._run(name, [branch]) for branch in op.params["branches"]), key=lambda c: c.ns)
        if op.primitive == "scan":
            self._report.count("scans taken as one operation", name)
            times, parts = int(op.params["length"]), [op.params["jaxpr"]]
        else:
            self._report.count(f"while loops taken as one operation of {self._iterations} iterations", name)
            times, parts = self._iterations, [op.params["cond_jaxpr"], op.params["body_jaxpr"]]
        once = self._run(name, parts)
        return Cost(once.ns * times, once.temp, once.flops * times, once.how)

    def _run(self, name: str, bodies: Sequence[Any]) -> Cost:
        """One run of each body. Workspace: all that the larger of them puts out."""
        ns = flops = temp = 0
        how = How.MODELLED
        for body in bodies:
            size = 0
            for op in program_of(body_of(body)[0], 0, Report()).ops:
                if op.primitive in _SOURCES:
                    continue
                view = op.primitive in VIEWS
                nested = op.primitive in ("scan", "while", "cond")
                call = call_of(op, view)
                cost = self._with_bodies(name, op) if nested else self._costing.model.cost(call)
                ns += cost.ns
                flops += cost.flops if nested or call.flops is None else call.flops
                size += 0 if view else sum(t.unique_bytes for t in op.outputs)
                how = How.GUESSED if cost.how is How.GUESSED else how
            temp = max(temp, size)
        return Cost(ns, temp, flops, how)


def call_of(op: Op, view: bool) -> OpCall:
    return OpCall(f"jax::{_KNOWN_AS.get(op.primitive, op.primitive)}", tuple(op.specs), outputs=tuple(op.outputs), flops=flops_of(op), is_view=view)
