"""Which share of a graph's nodes and of its time is measured, modelled, guessed; and times that nobody knows."""

from __future__ import annotations

import math
from collections import Counter

from .call import Cost, CostModel, How

UNKNOWN_COST_FLAG = "--unknown-cost"
_LONGEST = 2**62  # ns; a graph's times are integers of 63 bits


class UnknownCostError(ValueError):
    """A node's time is unknown, and no time for such nodes was given."""


def known_ns(value: float | int | None) -> int | None:
    """``value`` in whole ns, rounded up; None where it tells no time: missing, not a number, negative, or of more than 146 years."""
    if value is None or math.isnan(value) or not 0 <= value <= _LONGEST:
        return None
    return math.ceil(value)


class Coverage:
    """Tally of the costs of one graph. ``unknown_ns``: time in ns of nodes whose time is unknown, counted as guessed; None refuses them.

    ``nodes``, ``ns``: counts and times by :class:`How`. ``flops``: in all. ``guessed_ops``: guessed nodes by operation. ``unknown``: how many
    took ``unknown_ns``.
    """

    def __init__(self, unknown_ns: int | None = None) -> None:
        self.unknown_ns = unknown_ns
        self.nodes: Counter[How] = Counter()
        self.ns: Counter[How] = Counter()
        self.flops = 0
        self.guessed_ops: Counter[str] = Counter()
        self.unknown = 0

    def count(self, name: str, cost: Cost, op: str = "", flops: int | None = None) -> Cost:
        """The cost of node ``name``, tallied; an unknown time replaced. ``flops``: where they are known better than the cost tells them.

        Raises UnknownCostError where the time is unknown and may not be.
        """
        ns, how = known_ns(cost.ns), cost.how
        if ns is None:
            if self.unknown_ns is None:
                raise UnknownCostError(f"node '{name}': its time is unknown ({cost.ns}); {UNKNOWN_COST_FLAG} NS gives one for such nodes")
            self.unknown += 1
            ns, how = self.unknown_ns, How.GUESSED
        cost = Cost(ns, cost.temp, cost.flops, how)
        self.nodes[how] += 1
        self.ns[how] += ns
        self.flops += cost.flops if flops is None else flops
        if how is How.GUESSED and op:
            self.guessed_ops[op] += 1
        return cost

    def line(self) -> str:
        """``measured 80.0 % of 1,234 nodes, 95.1 % of time; modelled ...; guessed ...``, with what was guessed most, and unknown times."""
        nodes, ns = self.nodes.total(), self.ns.total()
        parts = [f"{how.value} {_percent(self.nodes[how], nodes)} of {nodes:,} nodes, {_percent(self.ns[how], ns)} of time" for how in How]
        if self.guessed_ops:
            most = sorted(self.guessed_ops.items(), key=lambda pair: (-pair[1], pair[0]))
            parts[-1] += " (" + ", ".join(f"{op} x{count}" for op, count in most[:3]) + (f", {len(most) - 3} more)" if len(most) > 3 else ")")
        if self.unknown:
            parts.append(f"{self.unknown:,} unknown times taken as {self.unknown_ns:,} ns")
        return "; ".join(parts)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole if whole else 0:.1f} %"


def finish(model: CostModel) -> list[str]:
    """To be called when all costs are had: the model's own account, a line each, and what it must store is stored.

    Raises ValueError where the costs are worthless, say where a trace has none of the operations that were asked for.
    """
    own = getattr(model, "finish", None)
    return list(own()) if own is not None else []
